//! What keys and values are.

use endura_bench::store::Shape;

/// What keys and values are.
#[derive(clap::Args)]
pub(crate) struct ShapeArgs {
    /// Keys of 24 bytes and values of 100 in place of numbers
    #[arg(long)]
    strings: bool,
    /// Bytes of a key [default: 8, a number]
    #[arg(short, long, alias = "key_size", conflicts_with = "strings")]
    key_bytes: Option<usize>,
    /// Bytes of the longest keys, if they are to differ in length
    #[arg(long, conflicts_with = "strings")]
    longest_key_bytes: Option<usize>,
    /// Bytes of a value [default: 8, a number]
    #[arg(short, long, alias = "value_size", conflicts_with = "strings")]
    value_bytes: Option<usize>,
}

impl ShapeArgs {
    pub(crate) fn shape(&self) -> Shape {
        if self.strings {
            return Shape::STRINGS;
        }
        let key_bytes = self.key_bytes.unwrap_or(8);
        Shape {
            key_bytes,
            longest_key_bytes: self.longest_key_bytes.unwrap_or(key_bytes),
            value_bytes: self.value_bytes.unwrap_or(8),
        }
    }
}

/// The arguments that stand for a shape, for a child process.
pub(crate) fn shape_arguments(shape: Shape) -> [String; 6] {
    let lengths = [shape.key_bytes, shape.longest_key_bytes, shape.value_bytes];
    let [key, longest, value] = lengths.map(|length| length.to_string());
    let names = ["--key-bytes", "--longest-key-bytes", "--value-bytes"].map(String::from);
    let [for_key, for_longest, for_value] = names;
    [for_key, key, for_longest, longest, for_value, value]
}
