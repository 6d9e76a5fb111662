/* automata/format.c - string formats as regular expressions, built from the grammars of their RFCs. */
#include "automata/format.h"
#include "automata/regex.h"

#include <string.h>

/* RFC 3339, 5.6 and appendix C: the days of each month, and the years that have a leap day */
#define YEAR "(?:[1-9]\\d{3}|0[1-9]\\d\\d|00[1-9]\\d|000[1-9])"
#define DATE \
	"(?:" YEAR "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|" \
	"(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))|" \
	"(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29)"
#define TIME \
	"(?:(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]" \
	"\\d)|" \
	"23:59:60(?:\\.\\d+)?(?:[Zz]|[+-]00:00))"
/* RFC 3339, appendix A */
#define DURATION \
	"P(?:\\d+W|(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)(?:T" CLOCK ")?|T" CLOCK ")"
#define CLOCK "(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)"

/* RFC 1123, 2.1; RFC 5890, 2.3.1: no -- in places 3 and 4 */
#define LABEL "(?:(?!..--)[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?)"
#define HOSTNAME LABEL "(?:\\." LABEL ")*"
/* At most 253 characters: three labels of 63, and 61 characters after them.  Counting all 253 would
 * take 24,000 states. */
#define BEHIND "(?!..--)(?:[A-Za-z0-9]|-(?=[A-Za-z0-9\\-])|\\.(?=[A-Za-z0-9])(?!..--)){1,61}"
#define BOUNDED LABEL "(?:\\." LABEL "(?:\\." LABEL "(?:\\.(?=[A-Za-z0-9])" BEHIND ")?)?)?"
/* RFC 2673, 3.2, and RFC 3986, 3.2.2 */
#define OCTET "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define IPV4 "(?:" OCTET "\\." OCTET "\\." OCTET "\\." OCTET ")"
/* RFC 4291, 2.2, as RFC 3986, 3.2.2 writes it */
#define HEX4 "[0-9A-Fa-f]{1,4}"
#define LAST32 "(?:" HEX4 ":" HEX4 "|" IPV4 ")"
#define UP_TO(n) "(?:(?:" HEX4 ":){0," #n "}" HEX4 ")?::"
#define IPV6 \
	"(?:(?:" HEX4 ":){6}" LAST32 "|::(?:" HEX4 ":){5}" LAST32 \
	"|" UP_TO(0) "(?:" HEX4 ":){4}" LAST32 "|" UP_TO(1) "(?:" HEX4 ":){3}" LAST32 \
							    "|" UP_TO(2) "(?:" HEX4 ":){2}" LAST32 \
									 "|" UP_TO(3) HEX4 \
		":" LAST32 "|" UP_TO(4) LAST32 "|" UP_TO(5) HEX4 "|" UP_TO(6) ")"

/* RFC 5321, 4.1.2; RFC 6531, 3.3 adds characters beyond ASCII */
#define ATEXT(x) "[A-Za-z0-9!#$%&'*+\\-/=?\\^_`{|}~" x "]"
#define QUOTED(x) "\"(?:[ !#-\\[\\]-~" x "]|\\\\[ -~])*\""
#define MAILBOX(x, domain) \
	"(?:(?=[^@]{1,64}@)" ATEXT(x) "+(?:\\." ATEXT(x) "+)*|" QUOTED(x) ")@(?:" domain \
									  "|\\[(?:" IPV4 \
									  "|IPv6:" IPV6 ")\\])"
#define BEYOND "\\u0080-\\u{10ffff}"
#define IDN_LABEL \
	"(?:(?!..--)[A-Za-z0-9" BEYOND "](?:[A-Za-z0-9" BEYOND "\\-]*[A-Za-z0-9" BEYOND "])?)"

/* RFC 3986, appendix A; RFC 3987, 2.2: in the latter, x is ucschar and q is iprivate */
#define PERCENT "%[0-9A-Fa-f]{2}"
#define NAMES(x) "A-Za-z0-9\\-._~" x "!$&'()*+,;="
#define CHAR(x) "(?:[" NAMES(x) ":@]|" PERCENT ")"
#define USER(x) "(?:[" NAMES(x) ":]|" PERCENT ")*@"
#define HOST(x) \
	"(?:\\[(?:" IPV6 "|[Vv][0-9A-Fa-f]+\\.[" NAMES("") ":]+)\\]|(?:[" NAMES(x) "]|" PERCENT \
										   ")*)"
#define AUTHORITY(x) "//(?:" USER(x) ")?" HOST(x) "(?::\\d*)?(?:/" CHAR(x) "*)*"
#define ABSOLUTE(x) "/(?:" CHAR(x) "+(?:/" CHAR(x) "*)*)?"
#define TAIL(x, q) "(?:\\?(?:" CHAR(x) "|[/?" q "])*)?(?:#(?:" CHAR(x) "|[/?])*)?"
#define FULL(x, q) \
	"[A-Za-z][A-Za-z0-9+\\-.]*:(?:" AUTHORITY(x) "|" ABSOLUTE(x) "|" CHAR(x) "+(?:/" CHAR( \
		x) "*)*|)" TAIL(x, q)
#define RELATIVE(x, q) \
	"(?:" AUTHORITY(x) "|" ABSOLUTE(x) "|(?:[" NAMES(x) "@]|" PERCENT \
							    ")+(?:/" CHAR(x) "*)*|)" TAIL(x, q)
#define UCSCHAR \
	"\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef\\u{10000}-\\u{1fffd}\\u{20000}-\\u{2fffd}" \
	"\\u{30000}-\\u{3fffd}\\u{40000}-\\u{4fffd}\\u{50000}-\\u{5fffd}\\u{60000}-\\u{6fffd}" \
	"\\u{70000}-\\u{7fffd}\\u{80000}-\\u{8fffd}\\u{90000}-\\u{9fffd}\\u{a0000}-\\u{afffd}" \
	"\\u{b0000}-\\u{bfffd}\\u{c0000}-\\u{cfffd}\\u{d0000}-\\u{dfffd}\\u{e1000}-\\u{efffd}"
#define IPRIVATE "\\ue000-\\uf8ff\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}"

/* RFC 6570, 2, with the apostrophe of erratum 6937; reserved operators are rejected */
#define VARCHAR "(?:[A-Za-z0-9_]|" PERCENT ")"
#define VARSPEC VARCHAR "(?:\\.?" VARCHAR ")*(?::[1-9]\\d{0,3}|\\*)?"
#define TEMPLATE \
	"(?:[!#$&-;=?-\\[\\]_a-z~" UCSCHAR IPRIVATE "]|" PERCENT "|\\{[+#./;?&]?" VARSPEC \
	"(?:," VARSPEC ")*\\})*"

/* RFC 6901, 3; draft-bhutton-relative-json-pointer-00, 3, without the index manipulation */
#define POINTER "(?:/(?:[^~/]|~[01])*)*"

/* The regular part of ECMA-262, 22.2.1 that other dialects read alike: see format.h */
#define MARKS "\\^$.*+?()\\[\\]{}|"
#define ESCAPE \
	"\\\\(?:[dDwWsSfnrtv/\\\\" MARKS \
	"]|x[0-9A-Fa-f]{2}|u(?:[0-9A-Ca-cE-Fe-f][0-9A-Fa-f]|[Dd][0-7])" \
	"[0-9A-Fa-f]{2})"
#define SPAN \
	"(?:0-\\d|[12]-[2-9]|[34]-[4-9]|[56]-[6-9]|[78]-[89]|a-[a-z]|[b-m]-[m-z]|[n-z]-z|A-[A-Z]|" \
	"[B-M]-[M-Z]|[N-Z]-Z)"
#define MEMBER "(?:" SPAN "|[^\\\\\\[\\]\\^\\-&~|]|" ESCAPE ")"
#define TIMES \
	"(?:[*+?]|\\{(?:\\d{1,3},?|\\d,[1-9]\\d|[1-9]\\d,[1-9]\\d\\d|0,\\d|1,[1-9]|2,[2-9]|3,[3-" \
	"9]|" \
	"4,[4-9]|5,[5-9]|6,[6-9]|7,[7-9]|8,[89]|9,9)\\})\\??"
#define TERMS(group) \
	"(?:[|\\^$]|\\\\[bB]|\\(\\?[=!]" group "\\)|(?:[^\\\\" MARKS "]|\\.|" ESCAPE \
	"|\\[\\^?-?" MEMBER "+-?\\]|\\((?:\\?:)?" group "\\))(?:" TIMES ")?)*"

static const struct string_format formats[] = {
	/* byte: a format of OpenAPI; RFC 4648, 4 */
	{ "byte", "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?" },
	{ "date", DATE },
	{ "date-time", DATE "[Tt]" TIME },
	{ "duration", DURATION },
	{ "email", MAILBOX("", HOSTNAME) },
	{ "hostname", BOUNDED },
	{ "idn-email", MAILBOX(BEYOND, IDN_LABEL "(?:\\." IDN_LABEL ")*") },
	{ "ipv4", IPV4 },
	{ "ipv6", IPV6 },
	{ "iri", FULL(UCSCHAR, IPRIVATE) },
	{ "iri-reference", FULL(UCSCHAR, IPRIVATE) "|" RELATIVE(UCSCHAR, IPRIVATE) },
	{ "json-pointer", POINTER },
	{ "regex", TERMS(TERMS(TERMS("(?!)"))) },
	{ "relative-json-pointer", "(?:0|[1-9]\\d*)(?:#|" POINTER ")" },
	{ "time", TIME },
	{ "uri", FULL("", "") },
	{ "uri-reference", FULL("", "") "|" RELATIVE("", "") },
	{ "uri-template", TEMPLATE },
	{ "uuid", "[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}" },
};

const struct string_format *string_format_at(size_t i)
{
	return i < sizeof formats / sizeof *formats ? formats + i : NULL;
}

const struct string_format *string_format_find(const char *name, size_t n)
{
	const struct string_format *f;

	for (size_t i = 0; (f = string_format_at(i)); i++)
		if (strlen(f->name) == n && !memcmp(f->name, name, n))
			break;
	return f;
}

int string_format_is_free(const char *name, size_t n)
{
	/* of OpenAPI's registry */
	static const char *const free[] = { "binary", "double", "float",    "int16", "int32",
		                            "int64",  "int8",   "password", "uint",  "uint16",
		                            "uint32", "uint64", "uint8" };

	for (size_t i = 0; i < sizeof free / sizeof *free; i++)
		if (strlen(free[i]) == n && !memcmp(free[i], name, n))
			return 1;
	return 0;
}

int string_format_is_known(const char *name, size_t n)
{
	static const char unsupported[] = "idn-hostname";

	return string_format_find(name, n) || string_format_is_free(name, n) ||
	       (n == sizeof unsupported - 1 && !memcmp(name, unsupported, n));
}

int string_format_dfa(struct dfa **out, const struct string_format *f, struct budget *left,
                      infer_error *err)
{
	return regex_dfa(out, f->pattern, strlen(f->pattern), REGEX_WHOLE, left, err);
}
