//! A client of Redis' protocol.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    Ok,
    Simple(String),
    Error(String),
    Integer(i64),
    Nil,
    Bulk(Vec<u8>),
    Array(Vec<Reply>),
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::Bulk(text.into())
    }
}

impl Reply {
    /// The text of a bulk, a line or an error.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Simple(text) | Self::Error(text) => text.clone(),
            Self::Ok => "OK".into(),
            Self::Integer(number) => number.to_string(),
            Self::Nil => "(nil)".into(),
            Self::Array(_) => self.texts().join(" "),
        }
    }

    /// The texts of the elements of an array.
    pub(crate) fn texts(&self) -> Vec<String> {
        match self {
            Self::Array(elements) => elements.iter().map(Self::text).collect(),
            other => panic!("not an array: {other:?}"),
        }
    }

    pub(crate) fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

trait Stream: Read + Write + Send {}
impl Stream for UnixStream {}
impl Stream for TcpStream {}

/// A connection.
pub(crate) struct Client(BufReader<Box<dyn Stream>>);

/// Longer than anything that a test does to a server, and shorter than a test that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

impl Client {
    pub(crate) fn at(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(Box::new(stream))))
    }

    pub(crate) fn at_port(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(Box::new(stream))))
    }

    /// Sends a command whose words may be any bytes.
    pub(crate) fn send(&mut self, words: &[&[u8]]) -> io::Result<()> {
        let mut line = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            line.extend(format!("${}\r\n", word.len()).bytes());
            line.extend(*word);
            line.extend(b"\r\n");
        }
        self.0.get_mut().write_all(&line)
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    pub(crate) fn receive(&mut self) -> io::Result<Reply> {
        let mut line = Vec::new();
        if self.0.read_until(b'\n', &mut line)? == 0 || !line.ends_with(b"\r\n") {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // An error may quote what was sent.
        let line = String::from_utf8_lossy(&line).into_owned();
        let rest = line[1..].trim_end();
        let number = || rest.parse::<i64>().map_err(|_| io::Error::other(line.clone()));
        Ok(match line.as_bytes()[0] {
            b'+' if rest == "OK" => Reply::Ok,
            b'+' => Reply::Simple(rest.into()),
            b'-' => Reply::Error(rest.into()),
            b':' => Reply::Integer(number()?),
            b'$' => match usize::try_from(number()?) {
                Ok(len) => {
                    let mut bytes = vec![0; len + 2];
                    self.0.read_exact(&mut bytes)?;
                    bytes.truncate(len);
                    Reply::Bulk(bytes)
                }
                Err(_) => Reply::Nil,
            },
            b'*' => match usize::try_from(number()?) {
                Ok(len) => {
                    Reply::Array((0..len).map(|_| self.receive()).collect::<io::Result<_>>()?)
                }
                Err(_) => Reply::Nil,
            },
            _ => return Err(io::Error::other(line)),
        })
    }

    /// Sends a command and waits for its answer; `Err` if the server is gone.
    pub(crate) fn ask(&mut self, words: &[&[u8]]) -> io::Result<Reply> {
        self.send(words)?;
        self.receive()
    }

    /// The same, of words that are text without spaces.
    pub(crate) fn call(&mut self, line: &str) -> Reply {
        let words: Vec<&[u8]> = line.split_whitespace().map(str::as_bytes).collect();
        self.ask(&words).unwrap_or_else(|error| panic!("{line}: {error}"))
    }
}
