//! Dialogues of the classic commands.

/// See [`compare`](super::compare). An `mn` after a `get` of a number has memcached release the item. Else the next `incr`
/// makes another item in its place, and does not pad it.
const DIALOGUES: &[&[&str]] = &[
    &["get %a\r\nset %a 7 0 3\r\nabc\r\nget %a\r\ngets %a %b %a\r\nget   %a  \r\n  get %a\n"],
    &[
        "add %a 0 0 1\r\nx\r\nadd %a 0 0 1\r\ny\r\nreplace %b 0 0 1\r\nx\r\nreplace %a 3 0 1\r\nz\r\nget %a\r\n",
    ],
    &[
        "append %a 0 0 1\r\nd\r\nset %a 5 0 3\r\nabc\r\nappend %a 9 1 1\r\nd\r\nprepend %a 9 -1 1\r\n_\r\nget %a\r\n",
    ],
    &["set %a 0 0 0\r\n\r\nget %a\r\nincr %a 1\r\n"],
    // A web page that has a browser send commands.
    &[
        "set %a 0 0 1\r\nx\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\n\r\ndelete %a\r\nset %b 0 0 1\r\nx\r\n",
        "GET /%a HTTP/1.1\r\nHost: a\r\n\r\n",
        "get %a %b HTTP/1.1\r\nend\r\n",
    ],
    // noreply, also of what fails.
    &[
        "set %a 0 0 1 noreply\r\nx\r\nadd %a 0 0 1 noreply\r\ny\r\nget %a\r\nincr %a 1 noreply\r\nversionx\r\n",
    ],
    &["set %a x 0 1 noreply\r\nx\r\nset %a 0 0 3 noreply\r\nabcde\r\nget %a\r\n"],
    &[
        "delete %a noreply\r\ndelete %a x noreply\r\ntouch %a x noreply\r\nincr %a x noreply\r\nend\r\n",
    ],
    &[
        "cas %a 0 0 1 noreply\r\ncas %a 0 0 1 5 noreply\r\nx\r\nset noreply\r\nset %a 0 0 noreply\r\nend\r\n",
    ],
    &[
        "set %a 0 0 1 other\r\nx\r\nget %a\r\ncas %a 0 0 1 5 other\r\nx\r\nincr %a 1 other\r\ntouch %a 9 other\r\n",
    ],
    &[
        "set %a 0 0 1 noreply more\r\nx\r\nset %a 0 0 1 a b c d e f g h\r\nx\r\nincr %a 1 noreply x\r\n",
    ],
    // Numbers.
    &[
        "set n% 0 0 20\r\n18446744073709551615\r\nincr n% 1\r\nget n%\r\nmn\r\nincr n% 18446744073709551615\r\nincr n% 1\r\n",
    ],
    &[
        "set n% 0 0 2\r\n10\r\ndecr n% 1\r\nget n%\r\nmn\r\ndecr n% 10\r\nget n%\r\nmn\r\nincr n% 5\r\nget n%\r\nmn\r\n",
    ],
    &[
        "set %a 0 0 1\r\nx\r\nincr %a 1\r\ndecr %a 1\r\nincr %b 1\r\ndecr %b 1\r\nincr %a x\r\nincr %a -1\r\nincr %a\r\n",
    ],
    &[
        "set n% 0 0 2\r\n 7\r\nincr n% 1\r\nset n% 0 0 3\r\n7 x\r\nincr n% 1\r\nset n% 0 0 2\r\n7x\r\nincr n% 1\r\n",
    ],
    &[
        "set n% 0 0 2\r\n-1\r\nincr n% 1\r\nset n% 0 0 2\r\n+1\r\nincr n% 1\r\nincr n% +1\r\nincr n% 1.5\r\nincr n% 0x1\r\n",
    ],
    &[
        "set n% 0 0 20\r\n18446744073709551616\r\nincr n% 1\r\nset n% 0 0 25\r\n0000000000000000000000001\r\nincr n% 1\r\n",
    ],
    &[
        "set n% 3 0 1\r\n1\r\nincr n% 18446744073709551616\r\nincr n% 18446744073709551615\r\ngets n%\r\n",
    ],
    // Times of expiry.
    &[
        "set %a 0 -1 1\r\nx\r\nget %a\r\nset %a 0 -2147483648 1\r\nx\r\nget %a\r\nadd %a 0 0 1\r\ny\r\nget %a\r\n",
    ],
    &[
        "set %a 0 2592000 1\r\nx\r\nget %a\r\nset %b 0 2592001 1\r\nx\r\nget %b\r\nset %c 0 2147483647 1\r\nx\r\nget %c\r\n",
    ],
    &["set %a 0 2147483648 1\r\nx\r\nset %a 0 x 1\r\nx\r\nset %a 0 1x 1\r\nx\r\n"],
    &[
        "touch %a 0\r\nset %a 0 0 1\r\nx\r\ntouch %a 100\r\nget %a\r\ntouch %a -1\r\nget %a\r\ntouch %a x\r\ntouch %a\r\ntouch\r\n",
    ],
    &[
        "set %a 4 0 1\r\nx\r\ngat 100 %a %b\r\ngats 100 %a\r\ngat -1 %a\r\nget %a\r\ngat x %a\r\ngat 100\r\ngat\r\ngats\r\n",
    ],
    // Times of `gat` and `touch`, as `mg` shows them.
    &[
        "set %a 4 100 1\r\nx\r\ngat 0 %a\r\nmg %a t\r\ngat 2592000 %a\r\nmg %a t\r\ngat 2100000000 %a\r\nmg %a t\r\ngats +7 %a %b\r\nmg %a t\r\ntouch %a 2592000\r\nmg %a t\r\n",
        "gat 2592001 %a\r\nget %a\r\nset %a 0 0 1\r\nx\r\ngats -2147483648 %a\r\nget %a\r\ngat 1x %a\r\ngat 9223372036854775808 %a\r\ngat  5\r\n",
        "set %a 4 0 1\r\nx\r\nset %b 0 2592000 1\r\nx\r\nmg %b t\r\nset %b 0 2100000000 1\r\nx\r\nmg %b t\r\ngat 50 %a %b %c %a\r\nmg %a t\r\nmg %b t\r\n",
    ],
    // cas.
    &[
        "set %a 0 0 1\r\nx\r\ncas %b 0 0 1 7\r\ny\r\n",
        "cas %a 2 0 1 {cas %a}\r\ny\r\nget %a\r\n",
        "touch %a 100\r\ncas %a 2 0 1 {cas %a}\r\nz\r\nget %a\r\n",
        "incr %a 1\r\ncas %a 0 0 1 1\r\nw\r\ncas %a 0 0 1 x\r\nw\r\ncas %a 0 0 1 -1\r\nw\r\ncas %a 0 0 1\r\n",
        "set n% 0 0 1\r\n1\r\n",
        "cas n% 0 0 1 {cas n%}\r\n2\r\nincr n% 1\r\nget n%\r\nmn\r\n",
    ],
    // delete.
    &[
        "set %a 0 0 1\r\nx\r\ndelete %a\r\ndelete %a\r\ndelete %a 0\r\ndelete %a 5\r\ndelete %a 0 noreply\r\ndelete\r\n",
    ],
    &["delete %a noreply\r\ndelete %a a b\r\ndelete %a a b c\r\ndelete %a 0 x\r\nend\r\n"],
    // Lines.
    &[
        "\r\n\n\r\n \r\nfoo\r\nget\r\ngets \r\nset\r\nset %a\r\nset %a 0 0\r\nGET %a\r\nxy\r\nx\r\ngetx %a\r\n",
    ],
    &["set %a 0 0 1\r\r\nx\r\nget %a\r\nincr %a 1\r\r\n\tget %a\r\nget\t%a\r\nget %a\r\r\n"],
    &[
        "set %\x01\t\x7f\u{e9} 0 0 1\r\nx\r\nget %\x01\t\x7f\u{e9}\r\nset %\rb 0 0 1\r\nx\r\nget %\rb\r\n",
    ],
    &[
        "set %a 4294967295 0 1\r\nx\r\nget %a\r\nset %a -1 0 1\r\nx\r\nset %a x 0 1\r\nx\r\nset %a 1x 0 1\r\nx\r\n",
    ],
    &["set %a 18446744073709551616 0 1\r\nx\r\nget %a\r\nset %a 0 9223372036854775808 1\r\nx\r\n"],
    &["set %a 0 0 -1\r\nset %a 0 0 x\r\nset %a 0 0 2147483648\r\nset %a 0 0 2147483646\r\nend\r\n"],
    // Data blocks.
    &[
        "set %a 0 0 3\r\nabcde\r\nget %a\r\nset %a 0 0 5\r\nabc\r\n\r\nget %a\r\nset %a 0 0 3\r\nabc\nxget %a\r\n",
    ],
    &["set %a 0 0 1\r\nx\r\nset %a 0 0 3\r\nabcd\r\nget %a\r\nset %a 0 0 10\r\na\r\nb"],
    &["set %a 0 0 3\r\nabc\rxget %a\r\nset %a 0 0 3\r\nabcx\nget %a\r\n"],
    // Other commands.
    &["verbosity 1\r\nverbosity\r\nverbosity 1 noreply\r\nverbosity 0\r\nend\r\n"],
    &[
        "verbosity x\r\nverbosity 1 2\r\nverbosity 1 2 3\r\nverbosity -1\r\nverbosity noreply\r\nend\r\n",
    ],
    &["stats reset\r\nstats nonsense\r\nquit\r\nget %a\r\n"],
    &["version x y\r\n"],
    &["quit now\r\nget %a\r\n"],
    // flush_all is the last one, because it concerns the other dialogues as well.
    &[
        "set %a 0 0 1\r\nx\r\nflush_all\r\nget %a\r\nset %a 0 0 1\r\ny\r\nget %a\r\nflush_all noreply\r\nget %a\r\n",
    ],
    &[
        "set %a 0 0 1\r\nx\r\nflush_all 100\r\nget %a\r\nflush_all 0\r\nget %a\r\nflush_all x\r\nflush_all 1 2\r\nflush_all 1 2 3\r\n",
    ],
    &[
        "flush_all 100 noreply\r\nflush_all x noreply\r\nset %a 0 0 1\r\nx\r\nflush_all -1\r\nget %a\r\n",
    ],
    &[
        "set %a 0 0 1\r\nx\r\nflush_all\r\nincr %a 1\r\nappend %a 0 0 1\r\nx\r\nreplace %a 0 0 1\r\nx\r\ntouch %a 1\r\ndelete %a\r\n",
    ],
];

#[test]
fn dialogues_go_as_with_memcached() {
    super::compare(DIALOGUES);
}
