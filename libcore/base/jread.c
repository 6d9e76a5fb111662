/* base/jread.c - reading untrusted JSON. */
#include "base/jread.h"
#include "base/err.h"
#include "base/utf8.h"

#include <float.h>
#include <string.h>

/* An open array or object has no sibling yet, so its `next` points to the enclosing one until it is
 * closed. */
struct reader {
	const char *text, *p, *end;
	struct arena *a;
	struct json *top, *open;
	int depth, huge;          /* huge: 1: accept numbers too large for a double */
	const char *at, *why;     /* position and reason of an error */
	const struct json *twice; /* a member with a duplicate key */
};

static int refuse_at(struct reader *r, const char *at, const char *why)
{
	r->at = at;
	r->why = at == r->end ? "the text ends too early" : why;
	return INFER_EFORMAT;
}

static void skip_space(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t'))
		r->p++;
}

/* ---- strings */

enum { QUOTE = '"', SLASH = '\\' };
static const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;

/* Set the top bit of each byte of w that is a control character, a quote or a backslash.  Only the
 * lowest bit set is reliable, because borrows propagate upwards; bytes that are not ASCII may be
 * marked too. */
static uint64_t stops_of(uint64_t w)
{
	return ((w - ones * 0x20) | ((w ^ ones * QUOTE) - ones) | ((w ^ ones * SLASH) - ones)) &
	       tops;
}

/* Return the first control character, quote, backslash or byte that is not ASCII. */
static const char *skip_plain(const char *p, const char *end)
{
	for (; end - p >= 8; p += 8) {
		uint64_t w, hits;

		memcpy(&w, p, 8);
		hits = stops_of(w) | (w & tops);
		if (hits)
			return p + __builtin_ctzll(hits) / 8;
	}
	while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != QUOTE &&
	       *p != SLASH)
		p++;
	return p;
}

/* At the start of a character: return 8 or 7 if that many bytes are plain ASCII and complete
 * two-byte characters, else 0. */
static int count_pairs(const char *p)
{
	uint64_t w, high, six, five, lead, longer;

	memcpy(&w, p, 8);
	high = w & tops;
	six = w << 1 & tops;
	five = w << 2 & tops;
	lead = high & six & ~five;
	longer = (w & ones * 0x1e) + ones * 0x7f; /* top bit 0: overlong, one byte is enough */
	if ((stops_of(w) & ~high) | (high & six & five) | (lead & ~longer) |
	    ((high & ~six) ^ lead << 8))
		return 0;
	return lead >> 63 ? 7 : 8;
}

/* Skip multi-byte characters and plain ASCII between them.  NULL: the text is not UTF-8. */
static const char *skip_letters(const char *p, const char *end)
{
	const unsigned char *u;
	uint32_t cp;
	int len;

	while (end - p >= 8) {
		u = (const unsigned char *)p;
		if (*u > 0xe0 && *u < 0xf0 && *u != 0xed && (u[1] & 0xc0) == 0x80 &&
		    (u[2] & 0xc0) == 0x80)
			len = 3;
		else if ((len = count_pairs(p)))
			;
		else if (*u < 0x20 || *u == QUOTE || *u == SLASH)
			return p;
		else if (!(len = utf8_get(p, (size_t)(end - p), &cp)))
			return NULL;
		p += len;
	}
	for (; p < end && (unsigned char)*p >= 0x80; p += len)
		if (!(len = utf8_get(p, (size_t)(end - p), &cp)))
			return NULL;
	return p;
}

static int hex4(const char *p, const char *end, uint32_t *out)
{
	*out = 0;
	for (int i = 0; i < 4; i++, p++) {
		unsigned c = p < end ? (unsigned char)*p : 0, digit = c - '0';

		if (digit > 9)
			digit = (c | 32) - 'a' < 6 ? (c | 32) - 'a' + 10 : 16;
		if (digit > 15)
			return -1;
		*out = *out << 4 | digit;
	}
	return 0;
}

/* Decode the escape at *p to out.  Returns the number of bytes, or 0 with *why. */
static int unescape(const char **p, const char *end, char out[4], const char **why)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *s = *p + 1, *known = s < end && *s ? strchr(from, *s) : NULL;
	uint32_t cp, low;

	*why = "no such escape in a string";
	if (known) {
		*p = s + 1;
		*out = to[known - from];
		return 1;
	}
	if (s == end || *s != 'u' || hex4(s + 1, end, &cp))
		return 0;
	s += 5;
	*why = "half of a surrogate pair";
	if (cp >= 0xd800 && cp < 0xdc00) {
		if (end - s < 6 || s[0] != '\\' || s[1] != 'u' || hex4(s + 2, end, &low) ||
		    low < 0xdc00 || low > 0xdfff)
			return 0;
		cp = 0x10000 + ((cp & 0x3ff) << 10 | (low & 0x3ff));
		s += 6;
	}
	*p = s;
	return utf8_put(out, cp);
}

/* Decode a string, from its first escape on, into out, which has room for all of it. */
static int decode_escaped(struct reader *r, const char *p, const char *end, char *out, uint32_t *n)
{
	const char *why;
	char *to = out + *n;

	while (p < end) {
		const char *slash = memchr(p, '\\', (size_t)(end - p));
		size_t plain = (size_t)((slash ? slash : end) - p);
		char bytes[4];
		int k;

		memcpy(to, p, plain);
		to += plain;
		p += plain;
		if (p == end)
			break;
		slash = p;
		k = unescape(&p, end, bytes, &why);
		if (!k)
			return refuse_at(r, slash, why);
		memcpy(to, bytes, (size_t)k);
		to += k;
	}
	*n = (uint32_t)(to - out);
	return INFER_OK;
}

/* Read the string whose opening quote is at r->p. */
static int read_string(struct reader *r, const char **s, uint32_t *n)
{
	const char *from = r->p + 1, *p = from, *escape = NULL, *letters;
	char *out;

	for (;;) {
		p = skip_plain(p, r->end);
		if (p == r->end)
			return refuse_at(r, p, "");
		if (*p == '"')
			break;
		if (*p == '\\') {
			escape = escape ? escape : p;
			if (++p == r->end)
				return refuse_at(r, p, "");
			if ((unsigned char)*p >= 0x80 || (unsigned char)*p < 0x20)
				return refuse_at(r, p - 1, "no such escape in a string");
			p++;
			continue;
		}
		if ((unsigned char)*p < 0x20)
			return refuse_at(r, p, "a control character in a string");
		letters = skip_letters(p, r->end);
		if (!letters)
			return refuse_at(r, p + utf8_check(p, (size_t)(r->end - p)), "not UTF-8");
		p = letters;
	}
	r->p = p + 1;
	*s = from;
	*n = (uint32_t)(p - from);
	if (!escape)
		return INFER_OK;
	out = arena_raw(r->a, (size_t)(p - from));
	if (!out)
		return INFER_ENOMEM;
	*s = out;
	*n = (uint32_t)(escape - from);
	memcpy(out, from, *n);
	return decode_escaped(r, escape, p, out, n);
}

/* ---- duplicate keys */

enum { FEW = 8, SLOTS = 1024, AHEAD = 32 };

static int same_key(const struct json *a, const struct json *b)
{
	return a->key_n == b->key_n && !memcmp(a->key, b->key, a->key_n);
}

static uint64_t mix_hash(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t hash_key(const struct json *v)
{
	const uint64_t k = 0x9e3779b97f4a7c15;
	const char *p = v->key;
	uint64_t h = mix_hash(v->key_n ^ k, 0xbf58476d1ce4e5b9), w = 0;
	uint32_t n = v->key_n;

	for (; n > 8; p += 8, n -= 8) {
		memcpy(&w, p, 8);
		h = mix_hash(h ^ w, k ^ h >> 32);
		w = 0;
	}
	memcpy(&w, p, n);
	return mix_hash(h ^ w, k);
}

static int key_order(const struct json *a, const struct json *b)
{
	if (a->key_n != b->key_n)
		return a->key_n < b->key_n ? -1 : 1;
	return memcmp(a->key, b->key, a->key_n);
}

/* Find the first member with a duplicate key by sorting the keys: merge runs of 1, 2, 4 ... from a
 * into b and back. */
static int twice_in_order(struct reader *r, const struct json *o)
{
	const struct json **room = mem_alloc(r->a->who, (size_t)o->n * 2, sizeof *room), **a = room,
			  **b = room + o->n, **t;
	size_t n = 0;

	if (!room)
		return INFER_ENOMEM;
	json_each(v, o)
		a[n++] = v;
	for (size_t run = 1; run < n; run *= 2, t = a, a = b, b = t)
		for (size_t from = 0; from < n; from += 2 * run) {
			size_t i = from, i_end = n - from < run ? n : from + run, j = i_end;
			size_t j_end = n - from < 2 * run ? n : from + 2 * run;

			for (size_t k = from; k < j_end; k++)
				b[k] = j == j_end || (i < i_end && key_order(a[i], a[j]) <= 0)
				               ? a[i++]
				               : a[j++];
		}
	for (size_t i = 1; i < n; i++)
		if (same_key(a[i - 1], a[i]) && (!r->twice || a[i]->at < r->twice->at))
			r->twice = a[i];
	mem_free(room);
	return INFER_OK;
}

/* True if all keys have different hashes, and so differ.  A slot has 4 bytes of a hash, so that the
 * table fits the cache.  Probing is limited, because keys can be constructed to collide. */
static int all_differ(const struct json *o, uint32_t *at, size_t mask)
{
	const struct json *v = o->first;
	size_t steps = 8 * (size_t)o->n + 64;
	uint64_t hash[AHEAD];

	while (v) {
		int n = 0;

		for (; v && n < AHEAD; v = v->next) {
			hash[n] = hash_key(v);
			__builtin_prefetch(&at[hash[n++] & mask], 1);
		}
		for (int k = 0; k < n; k++) {
			uint32_t tag = (uint32_t)(hash[k] >> 32) | 1;
			size_t i = hash[k] & mask;

			for (; at[i]; i = (i + 1) & mask)
				if (at[i] == tag || !--steps)
					return 0;
			at[i] = tag;
		}
	}
	return 1;
}

static int check_many(struct reader *r, const struct json *o)
{
	uint32_t local[SLOTS], *at = local;
	size_t slots = 2 * FEW;
	int differ;

	while (slots < 2 * (size_t)o->n)
		slots *= 2;
	if (slots > SLOTS && !(at = mem_alloc(r->a->who, slots, sizeof *at)))
		return INFER_ENOMEM;
	memset(at, 0, slots * sizeof *at);
	differ = all_differ(o, at, slots - 1);
	if (at != local)
		mem_free(at);
	if (!differ)
		TRY(twice_in_order(r, o));
	return r->twice ? refuse_at(r, r->text + r->twice->at, "") : INFER_OK;
}

static int check_keys(struct reader *r, const struct json *o)
{
	if (o->n > FEW)
		return check_many(r, o);
	json_each(v, o)
		for (const struct json *u = o->first; u != v; u = u->next)
			if (same_key(u, v)) {
				r->twice = v;
				return refuse_at(r, r->text + v->at, "");
			}
	return INFER_OK;
}

/* ---- values */

static int read_word(struct reader *r, struct json *v, const char *text, enum json_kind kind)
{
	size_t n = strlen(text);

	if ((size_t)(r->end - r->p) < n || memcmp(r->p, text, n))
		return refuse_at(r, r->p, "no JSON value");
	r->p += n;
	v->kind = (uint8_t)kind;
	return INFER_OK;
}

static int parse_json_number(struct reader *r, struct json *v)
{
	size_t n = jread_num(v, r->p, (size_t)(r->end - r->p));

	if (!n)
		return refuse_at(r, r->p, "no JSON number");
	if (v->kind == JSON_NULL && !r->huge)
		return refuse_at(r, r->p, "a number beyond double");
	if (v->kind == JSON_NULL) {
		v->kind = JSON_REAL;
		v->d = *r->p == '-' ? -DBL_MAX : DBL_MAX;
	}
	r->p += n;
	return INFER_OK;
}

static int begin_value(struct reader *r, struct json *v, enum json_kind kind)
{
	if (++r->depth > JREAD_DEPTH)
		return refuse_at(r, r->p, "nested deeper than 1000");
	v->kind = (uint8_t)kind;
	v->first = NULL;
	v->next = r->open;
	r->open = v;
	r->p++;
	return INFER_OK;
}

static int read_value(struct reader *r, struct json *v)
{
	if (r->p == r->end)
		return refuse_at(r, r->p, "");
	switch (*r->p) {
	case '"':
		v->kind = JSON_STRING;
		return read_string(r, &v->s, &v->n);
	case '{':
		return begin_value(r, v, JSON_OBJECT);
	case '[':
		return begin_value(r, v, JSON_ARRAY);
	case 't':
		return read_word(r, v, "true", JSON_TRUE);
	case 'f':
		return read_word(r, v, "false", JSON_FALSE);
	case 'n':
		return read_word(r, v, "null", JSON_NULL);
	case '-':
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
	case '7':
	case '8':
	case '9':
		return parse_json_number(r, v);
	}
	return refuse_at(r, r->p, "no JSON value");
}

static int read_key(struct reader *r, struct json *v)
{
	if (r->p == r->end || *r->p != '"')
		return refuse_at(r, r->p, "no key in quotes");
	TRY(read_string(r, &v->key, &v->key_n));
	skip_space(r);
	if (r->p == r->end || *r->p != ':')
		return refuse_at(r, r->p, "a key must be followed by a colon");
	r->p++;
	skip_space(r);
	return INFER_OK;
}

/* Read a scalar, or the opening bracket of an array or object; in an object, read the key first. */
static int read_item(struct reader *r)
{
	struct json *around = r->open, *v = arena_raw(r->a, sizeof *v);

	if (!v)
		return INFER_ENOMEM;
	*v = (struct json){ 0 };
	if (!around) {
		r->top = v;
	} else {
		if (around->kind == JSON_OBJECT)
			TRY(read_key(r, v));
		*(around->last ? &around->last->next : &around->first) = v;
		around->last = v;
		around->n++;
	}
	v->at = (uint32_t)(r->p - r->text);
	return read_value(r, v);
}

/* Close the innermost array or object. */
static int close_value(struct reader *r)
{
	struct json *v = r->open;

	r->open = v->next;
	v->next = NULL;
	r->depth--;
	r->p++;
	return v->kind == JSON_OBJECT ? check_keys(r, v) : INFER_OK;
}

static int read_document(struct reader *r)
{
	const struct json *fresh; /* the array or object just opened, which may be empty */

	skip_space(r);
	do {
		fresh = r->open;
		TRY(read_item(r));
		fresh = r->open != fresh ? r->open : NULL;
		for (;;) {
			skip_space(r);
			if (!r->open)
				break;
			if (r->p == r->end)
				return refuse_at(r, r->p, "");
			if (*r->p == (r->open->kind == JSON_OBJECT ? '}' : ']')) {
				TRY(close_value(r));
				fresh = NULL;
				continue;
			}
			if (fresh)
				break;
			if (*r->p != ',')
				return refuse_at(
					r, r->p,
					r->open->kind == JSON_OBJECT
						? "neither a comma nor the end of an object"
						: "neither a comma nor the end of an array");
			r->p++;
			skip_space(r);
			break;
		}
	} while (r->open);
	return r->p == r->end ? INFER_OK : refuse_at(r, r->p, "more text after the value");
}

static int set_read_error(const struct reader *r, const char *what, infer_error *err)
{
	size_t line = 1;
	const char *from = r->text;
	int n;

	for (const char *p; (p = memchr(from, '\n', (size_t)(r->at - from))); from = p + 1)
		line++;
	if (!r->twice)
		return err_set(err, INFER_EFORMAT, "%s: line %zu, column %zu: %s", what, line,
		               (size_t)(r->at - from) + 1, r->why);
	n = r->twice->key_n < 80 ? (int)r->twice->key_n : 80;
	return err_set(err, INFER_EFORMAT, "%s: line %zu, column %zu: duplicate key '%.*s'", what,
	               line, (size_t)(r->at - from) + 1, n, r->twice->key);
}

static int read_whole(const struct json **out, struct arena *a, const char *text, size_t bytes,
                      int huge, const char *what, infer_error *err)
{
	struct reader r = { .text = text, .p = text, .end = text + bytes, .a = a, .huge = huge };
	int rc;

	*out = NULL;
	if (!bytes)
		r.text = r.p = r.end = "";
	if (bytes > UINT32_MAX)
		return err_set(err, INFER_EFORMAT, "%s: %zu bytes of JSON, more than %lu", what,
		               bytes, (unsigned long)UINT32_MAX);
	rc = read_document(&r);
	if (rc == INFER_ENOMEM)
		return err_set(err, rc, "%s: no memory for the JSON value", what);
	if (rc)
		return set_read_error(&r, what, err);
	*out = r.top;
	return INFER_OK;
}

int jread(const struct json **out, struct arena *a, const char *text, size_t bytes,
          const char *what, infer_error *err)
{
	return read_whole(out, a, text, bytes, 0, what, err);
}

int jread_huge(const struct json **out, struct arena *a, const char *text, size_t bytes,
               const char *what, infer_error *err)
{
	return read_whole(out, a, text, bytes, 1, what, err);
}
