//! Dialogues of the meta protocol.

/// See [`compare`](super::compare).
const DIALOGUES: &[&[&str]] = &[
    // mn, and what is no command.
    &["mn\r\nmn x y\r\nmx\r\nm\r\nmgg a\r\nmg\r\nms\r\nmd\r\nma\r\nme\r\nMN\r\n"],
    // mg: each flag alone, and all of them.
    &[
        "mg %a\r\nmg %a v\r\nmg %a s t c f k h l O1\r\n",
        "set %a 7 0 3\r\nabc\r\nmg %a\r\nmg %a v\r\nmg %a s\r\nmg %a t\r\nmg %a c\r\nmg %a f\r\nmg %a k\r\nmg %a O\r\nmg %a Oabc\r\nmg %a q\r\nmg %a u\r\nmg %a b\r\n",
        "mg %a s v t c f k Ox q\r\nmg %a k Ox v\r\nmg %a Ox k f c t v s\r\nmg  %a   v  s \r\n",
        "mg %a P L\r\nmg %a Pxx Lyy v\r\nmg %a F5 C5 Mx J1 D1 I v\r\n",
    ],
    // What was fetched, and what leaves no trace.
    &[
        "set %a 0 0 1\r\nx\r\nmg %a h\r\nmg %a h\r\nmg %a h\r\nset %a 0 0 1\r\nx\r\nmg %a h u\r\nmg %a h\r\nmg %a h\r\n",
        "set %a 0 0 1\r\nx\r\nget %a\r\nmg %a h l\r\nset %a 0 0 1\r\nx\r\ntouch %a 0\r\nmg %a h\r\nset %a 0 0 1\r\nx\r\ngat 0 %a\r\nmg %a h\r\n",
        "ms %a 1\r\nx\r\nmg %a u v\r\nmg %a h u\r\nmg %a v\r\nmg %a u h\r\nms %a 1 MA\r\ny\r\nmg %a h u\r\nmg %a u h v\r\n",
        "set n% 0 0 1\r\n5\r\nmg n% h\r\nmn\r\nincr n% 1\r\nmg n% h u\r\nmn\r\nincr n% 5\r\nmg n% h u\r\n",
        "ms %b 1\r\nx\r\nmg %b h O12345678901234567890123456789012\r\nmg %b u h\r\nmg %b O12345678901234567890123456789012\r\nmg %b u h\r\n",
    ],
    // me.
    &[
        "me\r\nme %a\r\nme %a b\r\nset %a 0 0 1\r\nx\r\nme %a\r\nmg %a\r\nme %a\r\ntouch %a 1000\r\nme %a\r\nme %a x\r\nme %a b\r\n",
        "ms Zm9vJQ== 1 b\r\nx\r\nme Zm9vJQ== b\r\nme Zm9v b\r\nme foo%\r\nme Zm9v= b\r\nme Zm9vJQ== bx\r\n",
    ],
    // Quiet: what is expected says nothing.
    &[
        "mg %a q\r\nmg %a q k Ox\r\nms %a 1 q\r\nx\r\nmg %a q v\r\nms %a 1 q ME\r\nx\r\nms %b 1 q MR\r\nx\r\nms %b 1 q C5\r\nx\r\nmd %b q\r\nmd %a q C1\r\nmd %a q\r\nma %a q\r\nmn\r\n",
        "ms n% 1 q\r\n5\r\nma n% q\r\nma n% q v\r\nma n% q C1\r\nma %c q N0\r\nma %c q N0\r\nmn\r\n",
        "ms %a 1 q\r\nxy\r\nms %a x q\r\nms %a 1 q Q\r\nx\r\nmg %a q Q\r\nma %a q Q\r\nmd %a q Q\r\nms %a 1 q\r\nx\r\nma %a q\r\nmn\r\n",
    ],
    // ms: modes, numbers, flags.
    &[
        "ms %a 2\r\nhi\r\nmg %a v f t\r\nms %a 2 F9 T1000 c k Oab\r\nho\r\nmg %a v f t\r\nms %a 0\r\n\r\nmg %a v s\r\n",
        "ms %a 2 ME\r\nhi\r\nms %b 2 ME\r\nhi\r\nms %c 2 MR c\r\nhi\r\nms %b 2 MR c\r\nhu\r\nms %c 2 MA\r\nhi\r\nms %c 2 MP k\r\nhi\r\nmg %c\r\n",
        "ms %b 1 MA F9 T9 c\r\n>\r\nms %b 1 MP c k\r\n<\r\nmg %b v f t s\r\nms %b 1 MS\r\nx\r\nmg %b v\r\n",
        "ms %a 1 Mx\r\nx\r\nms %a 1 M\r\nx\r\nms %a 1 MSS\r\nx\r\nms %a 1 Me\r\nx\r\nmn\r\n",
        "ms %a 1 F\r\nx\r\nms %a 1 Fx\r\nx\r\nms %a 1 F-1\r\nx\r\nms %a 1 F4294967295\r\nx\r\nmg %a f\r\nms %a 1 T\r\nx\r\nms %a 1 Tx\r\nx\r\nms %a 1 C\r\nx\r\nms %a 1 Cx\r\nx\r\n",
        "ms %a 1 T-1\r\nx\r\nmg %a\r\nms %a 1 T3000000\r\nx\r\nmg %a\r\nms %a 1 T2100000000\r\nx\r\nmg %a t\r\n",
    ],
    &[
        "ms %a 1\r\nx\r\n",
        "ms %a 1 C{cas %a+1}\r\ny\r\nms %a 1 C{cas %a} c k\r\nz\r\nmg %a v\r\n",
        "ms %a 1 MR C{cas %a+1}\r\ny\r\nms %a 1 MR C{cas %a}\r\nw\r\nmg %a v\r\n",
        "ms %a 1 MA C{cas %a+1}\r\ny\r\nms %a 1 MA C{cas %a}\r\nw\r\nmg %a v\r\n",
        "ms %a 1 MP C{cas %a-1} c\r\ny\r\nms %a 1 MP C0 c\r\nw\r\nmg %a v\r\nms %a 1 ME C{cas %a}\r\nw\r\n",
        "ms %a 1 C0\r\ny\r\nms %b 1 C0\r\ny\r\nms %b 1 C5\r\ny\r\nms %b 1 MR C5\r\ny\r\nms %b 1 MA C5\r\ny\r\nms %b 1 ME C5\r\ny\r\nmg %b v\r\n",
    ],
    // A faulty ms swallows its data, if it says how long they are.
    &[
        "ms %a 5 Q\r\nmn \r\n\r\nms %a 5 v v\r\nmn \r\n\r\nms %a 5 O12345678901234567890123456789012\r\nmn \r\n\r\nms %a 5 Mz\r\nmn \r\n\r\nms %a 5 b\r\nmn \r\n\r\nend\r\n",
        "ms %a\r\nms %a x\r\nms %a -1\r\nms %a 2147483646\r\nms %a S5\r\nms %a 5x\r\nmn\r\nms %a +1\r\nx\r\nmg %a v\r\n",
        "ms %a 1\r\nxmn\r\nms %a 3\r\nabcmn\r\nms %a 3\r\nab\r\n\r\nmn\r\nms %a 1 q k O1\r\nxyz\r\nmn\r\n",
        "ms %a 1 O12345678901234567890123456789012 Mz\r\nx\r\nms %a 1 Tx Cx Mxx Jx Dx\r\nx\r\nms %a 1 Dx Tx F\r\nx\r\nms %a 1 Fx\r\nx\r\nms %a 1 F Tx Q\r\nx\r\nmn\r\n",
    ],
    // Flags that are unknown, or there twice.
    &[
        "mg %a v v\r\nmg %a Q\r\nmg %a \x7f\r\nmg %a \u{e9}\r\nmg %a Q v v\r\nmg %a v v Q\r\nmg %a T\r\nmg %a Tx\r\nmg %a Nx Rx\r\nmg %a N R T Q\r\n",
        "md %a v v\r\nmd %a Q\r\nmd %a Cx\r\nma %a v v\r\nma %a Q\r\nma %a Dx\r\nma %a Jx\r\nma %a Mx\r\nma %a Mxx\r\nmd %a Mx\r\nmd %a Mxx\r\nmg %a Mxx\r\nmg %a Cx\r\nmg %a Dx\r\nmg %a Jx\r\nmg %a Fx\r\n",
        "mg %a O1234567890123456789012345678901\r\nmg %a O12345678901234567890123456789012\r\nmd %a O12345678901234567890123456789012\r\nma %a O12345678901234567890123456789012\r\nmg %a q O12345678901234567890123456789012\r\nmn\r\n",
        "mg %a v s t c f k h l u q O P L F1 C1 I D1\r\nmg %a v s t c f k h l u q O P L F1 C1 I D1 J1\r\nms %a 1 v s t c f k h l u q O P L F1 C1 I D1\r\nmd %a v s t c f k h l u q O P L F1 C1 I D1 J1\r\nma %a v s t c f k h l u q O P L F1 C1 I D1 J1\r\nmn\r\n",
    ],
    // md.
    &[
        "md %a\r\nmd %a k Ox\r\nms %a 1\r\nx\r\nmd %a k Ox c s v t\r\nmg %a\r\nms %a 1\r\nx\r\n",
        "md %a C{cas %a+1} k Ox\r\nmg %a\r\nmd %a C{cas %a} T5\r\nmg %a\r\nms %a 1\r\nx\r\nmd %a C0\r\nmd %a T0\r\nmg %a\r\n",
    ],
    // Stale items, and who fetches new data.
    &[
        "ms %a 1 T1000\r\nx\r\nmd %a I T30\r\nmg %a v t k\r\nmg %a v t\r\nmg %a q\r\nget %a\r\nmd %a I\r\nmg %a t\r\nmg %a\r\nms %a 1\r\ny\r\nmg %a v t\r\n",
        "md %b I\r\nms %b 1\r\nx\r\nmd %b I C1\r\nmg %b\r\n",
        "md %b I C{cas %b} q\r\nmg %b u v\r\nmg %b u v\r\ntouch %b 1000\r\nmg %b t\r\nappend %b 0 0 1\r\ny\r\nmg %b v t\r\n",
        "ms %c 1 T1000\r\nx\r\nmd %c I T30\r\n",
        "ms %c 1 I C{cas %c-1} T0 F5 c\r\ny\r\nmg %c v t f\r\nmg %c\r\n",
        "ms %c 1 I C{cas %c-1}\r\nz\r\nmg %c v\r\nms %c 1 I C{cas %c+1}\r\nw\r\nms %c 1 I C0\r\nw\r\nms %c 1 I\r\nv\r\nmg %c v\r\n",
        "ms %c 1 I C{cas %c}\r\nu\r\nmg %c v\r\nms %d 1 I C5\r\nu\r\nms %c 1 I MR C1\r\nq\r\nmg %c v\r\nmg %c v\r\n",
        "ms %c 1 I MA C1\r\nq\r\nms %c 1 I ME C1\r\nq\r\nmg %c v\r\n",
    ],
    &[
        "ms n% 2\r\n10\r\nmd n% I\r\nincr n% 1\r\nmg n% v\r\nmn\r\ndecr n% 5\r\nmg n% v s\r\nmn\r\nincr n% 99\r\nmg n% v s\r\n",
        "ms n% 1\r\n8\r\nmd n% I\r\nma n% v\r\nmg n% v\r\nmn\r\nma n% v\r\nmg n% v\r\n",
    ],
    // An item that is made for the client that asks first.
    &[
        "mg %a N30\r\nmg %a N30\r\nmg %a v t s f k\r\nms %a 1 ME\r\nx\r\nms %a 1 MR\r\nx\r\nmg %a v t\r\n",
        "mg %b N30 v t k c s f h Ox\r\nmg %b N50 t\r\nmg %c t N30 t\r\nmg %d N0 t\r\nmg %d t\r\nmg %e N-1\r\nmg %e N30 q\r\nmg %e q\r\n",
        "mg %f N30 T50 t\r\nmg %g T50 N30 t\r\nmg %h N30 R100\r\nmg %h R100 t\r\nmg %i T100\r\nmg %i\r\n",
        "mg %j O12345678901234567890123456789012 N30\r\nmg %j t\r\nmg %k N30 O12345678901234567890123456789012\r\nmg %k t\r\nmd %k I\r\nmg %k\r\nmg %k\r\n",
        "mg %l N30 u h\r\nmg %l u h\r\nmg %m N30 h\r\nmg %m u h\r\n",
    ],
    // Recaching, and times.
    &[
        "ms %a 1 T100\r\nx\r\nmg %a R50 t\r\nmg %a R200 t v\r\nmg %a R200 t\r\nmg %a t\r\nms %a 1\r\nx\r\nmg %a R200\r\nmg %a R-1\r\nmg %a R0\r\n",
        "ms %b 1 T100\r\nx\r\nmg %b R200 T1000 t\r\nmg %b t\r\nms %b 1 T100\r\nx\r\nmg %b T1000 R200 t\r\nms %b 1 T100\r\nx\r\nmg %b t T1000\r\nmg %b t\r\n",
        "ms %b 1\r\nx\r\nmg %b t T-1 t\r\nmg %b\r\nms %b 1\r\nx\r\nmg %b T3000000 t\r\nmg %b\r\nms %b 1\r\nx\r\nmg %b T2100000000 t\r\nmg %b T0 t\r\nmg %b R3000000 R\r\n",
        "ms %d 1\r\nx\r\nmg %d T50 O12345678901234567890123456789012\r\nmg %d t\r\nmg %d O12345678901234567890123456789012 T80\r\nmg %d t\r\n",
        "ms %c 1 T100\r\nx\r\ntouch %c 1000\r\nmg %c R200\r\ngat 100 %c\r\nmg %c R200\r\nmg %c R200\r\nmd %c I\r\nmg %c R200\r\nmg %c R200\r\n",
    ],
    // ma.
    &[
        "ma %a\r\nma %a k Ox\r\nms n% 1\r\n5\r\nma n%\r\nma n% v\r\nma n% v D10\r\nma n% v MD D3\r\nma n% v M-\r\nma n% v M+ D2\r\nma n% v MI c t k Ox\r\nma n% MD D100 v\r\nmg n% v s\r\n",
        "ma n% D18446744073709551615 v\r\nma n% v D2\r\nmg n% v\r\nma n% D18446744073709551616\r\nma n% D-1\r\nma n% D\r\n",
        "ma %b N0 v t\r\nma %b v t\r\nma %c N100 J13 v t k Ox c\r\nma %c v t\r\nma %d J5\r\nma %e N0 D7 J18446744073709551615 v\r\nma %f t N100 t\r\nma %f T200 t\r\nma %f t T0 t\r\nma %f t\r\n",
        "ms %g 1\r\nx\r\nma %g\r\nma %g N0\r\nms %g 0\r\n\r\nma %g\r\nma %g C7\r\nms %g 1\r\nx\r\nma %g C7\r\n",
        "ma n% C{cas n%} v c\r\nma n% C{cas n%+5} k\r\nma n% C1 Ox k v\r\nma n% C0 v\r\nma %zz C1\r\nma %zz N0 C1 v\r\n",
        "ma n% O12345678901234567890123456789012\r\nma n% v\r\nma %y N0 O12345678901234567890123456789012\r\nma %y v\r\nma %y q O12345678901234567890123456789012\r\nmn\r\n",
        "ma n% Mx\r\nma n% Md\r\nma n% M\r\nma n% s f h l u I P L F1 R5\r\n",
    ],
    // Keys in base64.
    &[
        "ms JWZvbw== 3 b k c\r\nabc\r\nmg JWZvbw== b v k\r\nmg %foo v k\r\nget %foo\r\nmd JWZvbw== b k q\r\nmd JWZvbw== b k Ox\r\n",
        "ms AAEC/v8= 3 b k\r\nabc\r\nmg AAEC/v8= k b v\r\nmd b AAEC/v8=\r\nma AAEC/v8= b k\r\nma AAEC/w== b N0 k v\r\nmd AAEC/v8= b I k\r\nmg AAEC/v8= b v k\r\n",
        "ms IA== 1 b k\r\nx\r\nmg IA== b k v\r\nms Cg== 1 k b\r\nx\r\nmg Cg== k b v\r\nme Cg== b\r\nmg AA== b\r\nms AA== 1 b\r\nx\r\nmg AA== b k v\r\nmg A-A=_= k b v\r\n",
        "ms Zm9 1 b\r\nx\r\nms ==== 1 b\r\nx\r\nms - 1 b\r\nx\r\nmg Zm9 b\r\nmd Zm9 b\r\nma Zm9 b\r\nms Z=9v 1 b\r\nx\r\nmg Z=9v b v\r\nms Zm8=Zm9v 1 b k\r\nx\r\nmg Zm8= b k v bx\r\nmg Zm8= bx k\r\nmg fo k\r\n",
        "set z% 0 0 1\r\nx\r\nms ejE= 1 b MA k\r\ny\r\nmn\r\n",
    ],
    // Items of the classic commands.
    &[
        "set %a 3 100 1\r\nx\r\nmg %a v f t\r\nms %a 1 MA\r\ny\r\nget %a\r\ncas %a 1 0 1 1\r\nz\r\n",
        "ms %b 2 F7\r\nhi\r\ngets %b\r\nappend %b 0 0 1\r\n!\r\nmg %b v f\r\ndelete %b\r\nmg %b\r\nmg %b v q\r\nend\r\n",
    ],
    // Lines.
    &["mg %a\nmn\nms %a 1\nx\r\nmg %a v\nmg %a v\r\r\n mg %a v\r\nmg %a\tv\r\n  mn  \r\n"],
    // What has nothing to do here.
    &[
        "lru\r\nlru tune 10 25 0.1 2.0\r\nlru tune 50 50 1 1\r\nlru tune 1 1 0 1\r\nlru tune 1 1 x 1\r\nlru tune 1 1 1\r\nlru mode flat\r\nlru mode segmented\r\nlru mode x\r\nlru mode\r\nlru temp_ttl 5\r\nlru temp_ttl -1\r\nlru temp_ttl x\r\nlru x\r\nlru mode flat noreply\r\nlru mode x noreply\r\nmn\r\n",
        "slabs\r\nslabs reassign\r\nslabs reassign 1 2\r\nslabs reassign 1 1\r\nslabs reassign 99 1\r\nslabs reassign 1 99\r\nslabs reassign x 1\r\nslabs automove 0\r\nslabs automove 1\r\nslabs automove 2\r\nslabs automove 3\r\nslabs automove x\r\nslabs automove ratio 0.5\r\nslabs automove ratio x\r\nslabs automove ratio\r\nslabs automove\r\nslabs x\r\nslabs automove 1 noreply\r\nslabs automove x noreply\r\nmn\r\n",
        "lru_crawler\r\nlru_crawler crawl all\r\nlru_crawler tocrawl 5\r\nlru_crawler tocrawl x\r\nlru_crawler sleep 5\r\nlru_crawler sleep x\r\nlru_crawler sleep 5000000\r\nlru_crawler x\r\nlru_crawler x y\r\nmn\r\n",
        "shutdown\r\nshutdown graceful\r\ncache_memlimit\r\ncache_memlimit 4\r\ncache_memlimit x\r\ncache_memlimit 2000000000\r\nbget %a\r\nbget\r\nset %a 0 0 1\r\nx\r\nbget %a\r\n",
    ],
];

#[test]
fn the_meta_protocol_goes_as_with_memcached() {
    super::compare(DIALOGUES);
}
