#!/usr/bin/env python3
"""Which strings have a format: tests/golden/format/cases.jsonl.

    scripts/golden-format.py

A row for each format: words that have it and words that have not.  Dates and times are judged by Python's calendar, addresses by
its ipaddress, names of hosts by the rules of RFC 1123 in plain Python; the words of the other formats are sorted by hand from
the examples of their RFCs and what is easily got wrong."""
import base64
import binascii
import calendar
import ipaddress
import json
import pathlib
import random
import re

OUT = pathlib.Path(__file__).parent.parent / "tests/golden/format/cases.jsonl"


def digits(s, n):
    return len(s) == n and all(c in "0123456789" for c in s)


def date(s):
    p = s.split("-")
    if len(p) != 3 or not (digits(p[0], 4) and digits(p[1], 2) and digits(p[2], 2)):
        return False
    y, m, d = map(int, p)
    return 1 <= m <= 12 and 1 <= d <= calendar.monthrange(y or 400, m)[1]


def clock(s, n):
    p = s.split(":")
    return len(p) == n and all(digits(x, 2) for x in p) and int(p[0]) < 24 and all(int(x) < 60 for x in p[1:])


def time(s):
    zone = s[-1:] in ("Z", "z")
    at = len(s) - 1 if zone else max(s.rfind("+"), s.rfind("-"))
    if at < 0 or not (zone or clock(s[at + 1:], 2)):
        return False
    t, dot, fraction = s[:at].partition(".")
    if dot and not (fraction and digits(fraction, len(fraction))):
        return False
    leap = t == "23:59:60" and (zone or s[at + 1:] == "00:00")  # as far as automata/format.h goes
    return clock(t, 3) or leap


def date_time(s):
    return len(s) > 10 and s[10] in "Tt" and date(s[:10]) and time(s[11:])


def address(kind):
    def ok(s):
        try:
            return "%" not in s and "/" not in s and s.isascii() and bool(kind(s))
        except ValueError:
            return False
    return ok


def hostname(s):
    def label(x):
        return (0 < len(x) < 64 and all(c.isascii() and c.isalnum() or c == "-" for c in x) and x[0] != "-" != x[-1] and x[2:4] != "--")
    return all(label(x) for x in s.split("."))


def base64_only(s):
    try:
        return s.isascii() and base64.b64encode(base64.b64decode(s, validate=True)).decode()[-2:].count("=") == s[-2:].count("=") and len(s) % 4 == 0
    except binascii.Error:
        return False


JUDGED = {
    "date": (date, ["2024-02-29", "1999-12-31", "2000-02-29", "0004-02-29", "1900-03-01", "2023-06-30"]),
    "time": (time, ["00:00:00Z", "23:59:60z", "12:30:45.678+05:30", "23:59:60+00:00", "09:08:07-23:59", "23:59:60.5Z"]),
    "date-time": (date_time, ["2024-02-29T12:00:00Z", "1985-04-12t23:20:50.52z", "1990-12-31T23:59:60Z", "1937-01-01T12:00:27.87+00:20"]),
    "ipv4": (address(ipaddress.IPv4Address), ["0.0.0.0", "255.255.255.255", "127.0.0.1", "10.99.199.249"]),
    "ipv6": (address(ipaddress.IPv6Address), ["::", "::1", "1::", "2001:db8::8:800:200c:417A", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "::ffff:192.0.2.1",
                                              "1:2:3:4:5:6:1.2.3.4", "1::8", "1:2::7:8", "1:2:3::1.2.3.4", "64:ff9b::1.2.3.4", "1:2:3:4:5::1.2.3.4"]),
    "byte": (base64_only, ["", "YQ==", "YWI=", "YWJj", "YWJjZGVm+/89", "AAAA", "////"]),
    "hostname": (hostname, ["a", "example.com", "a-b.c0", "x" * 63 + ".y", "1.2", "a--b", "ab-c", "abc--d"]),
}
BY_HAND = {
    "regex": (["", "a", "^a.*b$", r"([abc])+\s+$", "[^a-z0-9_-]{2,7}", "(?:a|b)?c+?", "(?=a)b", "(?!x)y*", "a{3,}", r"[\d.]", r"\u00e9\x41\/", "é|", "()", "x{10,200}", "((a)b)*", "|", "[-+]?"],
              ["(", ")", "(^(abc]", "a**", "*", "+a", "[z-a]", "[", "a)", "(?", "(?<", "\\", "[a", "x{2,1}", "(a", "a|*", "(?:", "[9-0]", "(*)"]),
    "duration": (["P1D", "PT0S", "P3Y6M4DT12H30M5S", "P23DT23H", "P4Y", "P1M", "PT1M", "PT36H", "P1DT12H", "P2W", "P007D", "P1Y2M3D", "PT1H30M"],
                 ["", "P", "PT", "P1", "1D", "PD", "P1DT", "P1S", "PT1D", "P1Y3D", "PT1H5S", "P1W2D", "P1D1M", "p1d", "P1.5D", "-P1D", "P1D ", "P1DT1", "P1H"]),
    "email": (["a@b", "john.q.public@example.com", "user+tag@sub.example.org", "!#$%&'*+-/=?^_`{|}~@x.y", '"a b"@c', '"\\""@c', '""@c', "x@[1.2.3.4]", "x@[IPv6:2001:db8::1]",
               "o'brien@a-b.c", "a" * 64 + "@b"],
              ["", "a", "@", "a@", "@b", "a@b@c", "a b@c", "a..b@c", ".a@b", "a.@b", "a@-b", "a@b-", "a@b..c", "a@b.", "a@b_c", "é@b", "a@é", '"a@b', 'a"b"@c', "a@[1.2.3]",
               "a@[1.2.3.4", "a@[::1]", "<a@b>", "a" * 65 + "@b", "a@b\n", '"\n"@c']),
    "idn-email": (["a@b", "é@b", "用户@例え.テスト", "δοκιμή@παράδειγμα.δοκιμή", '"é 中"@b', "a@bücher.example", "x@[1.2.3.4]"], ["", "é", "@é", "é@", "é é@b", "é..é@b", "é@-ü", "é@ü-", "é@a..b"]),
    "uri": (["ftp://ftp.is.co.za/rfc/rfc1808.txt", "http://www.ietf.org/rfc/rfc2396.txt", "ldap://[2001:db8::7]/c=GB?objectClass?one", "mailto:John.Doe@example.com",
             "news:comp.infosystems.www.servers.unix", "tel:+1-816-555-1212", "telnet://192.0.2.16:80/", "urn:oasis:names:specification:docbook:dtd:xml:4.1.2", "a:", "a:/", "a://",
             "file:///etc/hosts", "http://u:p@h:80/a;b/c,d?e=f&g#h?/", "http://h?", "http://h#", "x:?a", "http://%41/%20", "http://[v1.a:b]/", "http://a//b//c"],
            ["", "a", "/a", "//h/p", "a b:", "1a:b", ":a", "http://h/a b", "http://h/%", "http://h/%4", "http://h/%zz", "http://h/[a]", "http://h/{a}", "http://h/a#b#c", "http://[::1",
             "http://[:::1]/", "http://a@b@c/", "http://h:8a/", "http://é/", "http://h/é", "a^b:c", "http://h\\a", "http:///a\"b", "http://h/a\n"]),
    "uri-reference": (["", "a", "a/b", "/a", "//h/p", "?q", "#f", "./a:b", "../../g", "g;x=1/../y", "http://h/", "a?b:c", ";x", "%41", "//", "a/b:c"],
                      ["1:b", "a b", "#a#b", "a\\b", "[a]", "%4", "é", "a:b c", "<a>", "//h:x/", "/[::1]"]),
    "iri": (["http://é.example/ñ?ü#ö", "http://例え/引き割り.html", "urn:日本", "http://h/?\ue000", "http://h/\U00020000", "a:", "http://[::1]/é"],
            ["", "é", "//é", "é:a", "http://h/ é", "http://h/\ue000", "http://h/\u0080", "http://h/\ufdd0", "http://h/\ufffe", "http://h/#\ue000", "http://h/\U000e0001"]),
    "iri-reference": (["", "é", "/é", "//é/ü", "?é", "#é", "http://é/"], ["é é", "é\\", "\u0085", "#é#", "<é>"]),
    "uri-template": (["", "http://example.com/~{username}/", "{var}", "{+path:6}/here", "X{#x,hello,y}", "map?{x,y}", "{/var,x}/here{?q,lang*}", "{;list*}", "{&x}", "{.a.b}", "%41", "é'",
                      "{%41b}", "{a_b:9999}"],
                     ["{", "}", "{}", "{a", "a}", "{{a}}", "{a b}", "{a:}", "{a:0}", "{a:10000}", "{a**}", "{a:1*}", "{.}", "{a.}", "{a,}", "{!a}", "{a-b}", "%4", "a b", "a\"", "a<", "a\\b", "a`",
                      "{a|b}", "\x7f"]),
    "json-pointer": (["", "/", "//", "/foo/0", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", "/k\"l", "/ ", "/m~0n", "/~01", "/é\U0001f600", "/a\nb", "/\u2028"], ["a", "#", "#/a", "/~", "/~2", "/a~", "/~~0", " /"]),
    "relative-json-pointer": (["0", "1", "10", "0#", "1/a", "120/~0/~1", "2/0/baz/1/zip", "0/", "3//"], ["", "/", "#", "01", "00", "-1", "+1", "1a", "1##", "1#/a", "1/~", "1.0", "1 "]),
    "uuid": (["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "00000000-0000-0000-0000-000000000000", "FFFFFFFF-ffff-FFFF-ffff-FFFFFFFFFFFF"],
             ["", "f81d4fae7dec11d0a76500a0c91e6bf6", "{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}", "g81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf",
              "f81d4fae-7dec-11d0-a765-00a0c91e6bf60", "f81d4fa-e7dec-11d0-a765-00a0c91e6bf6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf٣", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6\n"]),
}


def mutants(r, words, letters, n):
    out = dict.fromkeys(words + [""])
    for _ in range(n):
        w = r.choice(r.choice([words, list(out)]))
        i = r.randrange(len(w) + 1)
        c = r.choice(letters)
        out[r.choice([w[:i] + c + w[i:], w[:i] + w[i + 1:], w[:i] + c + w[i + 1:], w[:i] + c + w[i + 1:]])] = None
    return list(out)


def main():
    r = random.Random(3)
    letters = {"date": "0123459-", "time": "0123569:.+-Zz", "date-time": "01239:-.+TtZ", "ipv4": "0125.9", "ipv6": "01:af9.:2", "hostname": "a0-.-X_é", "byte": "aA0+/=-"}
    rows = {k: (words, no) for k, (words, no) in BY_HAND.items()}
    for name, (ok, words) in JUDGED.items():
        every = mutants(r, words, letters[name], 150)
        rows[name] = ([w for w in every if ok(w)], [w for w in every if not ok(w)])
        assert len(rows[name][0]) > 8, name
    for word in rows["regex"][0]:
        re.compile(word)
    for word in rows["regex"][1]:
        try:
            re.compile(word)
        except re.error:
            continue
        raise SystemExit(f"regex: {word}")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    with OUT.open("w") as f:
        for name in sorted(rows):
            f.write(json.dumps({"format": name, "yes": rows[name][0], "no": rows[name][1]}, ensure_ascii=False) + "\n")


main()
