/* base/jwrite.c - write JSON. */
#include "base/jwrite.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void jw_init(struct jwrite *w, struct buf *to) { *w = (struct jwrite){ .to = to }; }

static void write_quoted(struct buf *b, const char *s, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	size_t i = 0;

	buf_putc(b, '"');
	while (i < n) {
		size_t plain = i;
		unsigned char c;

		while (i < n && (c = (unsigned char)s[i]) >= 0x20 && c < 0x80 && c != '"' &&
		       c != '\\')
			i++;
		buf_put(b, s + plain, i - plain);
		if (i == n)
			break;
		c = (unsigned char)s[i];
		if (c >= 0x80) {
			uint32_t cp;
			int len = utf8_get(s + i, n - i, &cp);

			if (len)
				buf_put(b, s + i, (size_t)len);
			else
				buf_put(b, "\xef\xbf\xbd", 3);
			i += len ? (size_t)len : utf8_bad(s + i, n - i);
			continue;
		}
		buf_putc(b, '\\');
		switch (c) {
		case '"':
		case '\\':
			buf_putc(b, c);
			break;
		case '\b':
			buf_putc(b, 'b');
			break;
		case '\f':
			buf_putc(b, 'f');
			break;
		case '\n':
			buf_putc(b, 'n');
			break;
		case '\r':
			buf_putc(b, 'r');
			break;
		case '\t':
			buf_putc(b, 't');
			break;
		default:
			buf_put(b, (char[]){ 'u', '0', '0', hex[c >> 4], hex[c & 15] }, 5);
		}
		i++;
	}
	buf_putc(b, '"');
}

/* Write the comma before a value, and its key in an object. */
static void write_separator(struct jwrite *w, const char *key)
{
	uint64_t bit = (uint64_t)1 << w->depth;

	must(w->depth && !(w->array & bit) ? key != NULL : key == NULL);
	if (w->comma & bit)
		buf_putc(w->to, ',');
	if (w->depth)
		w->comma |= bit;
	if (key) {
		write_quoted(w->to, key, strlen(key));
		buf_putc(w->to, ':');
	}
}

static void open_level(struct jwrite *w, const char *key, uint64_t array)
{
	write_separator(w, key);
	must(w->depth < 63);
	w->depth++;
	w->comma &= ~((uint64_t)1 << w->depth);
	w->array &= ~((uint64_t)1 << w->depth);
	w->array |= array << w->depth;
	buf_putc(w->to, array ? '[' : '{');
}

void jw_object(struct jwrite *w, const char *key) { open_level(w, key, 0); }

void jw_array(struct jwrite *w, const char *key) { open_level(w, key, 1); }

void jw_end(struct jwrite *w)
{
	must(w->depth > 0);
	buf_putc(w->to, w->array >> w->depth & 1 ? ']' : '}');
	w->depth--;
}

void jw_strn(struct jwrite *w, const char *key, const char *s, size_t n)
{
	write_separator(w, key);
	write_quoted(w->to, s, n);
}

void jw_str(struct jwrite *w, const char *key, const char *s)
{
	if (s)
		jw_strn(w, key, s, strlen(s));
	else
		jw_null(w, key);
}

void jw_base64(struct jwrite *w, const char *key, const void *bytes, size_t n)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = bytes;

	write_separator(w, key);
	buf_putc(w->to, '"');
	for (; n; p += n < 3 ? n : 3, n -= n < 3 ? n : 3) {
		uint32_t u = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) |
		             (n > 2 ? p[2] : 0u);
		char four[4] = { digit[u >> 18], digit[u >> 12 & 63],
			         n > 1 ? digit[u >> 6 & 63] : '=', n > 2 ? digit[u & 63] : '=' };

		buf_put(w->to, four, 4);
	}
	buf_putc(w->to, '"');
}

void jw_int(struct jwrite *w, const char *key, int64_t v)
{
	write_separator(w, key);
	buf_printf(w->to, "%lld", (long long)v);
}

void jw_uint(struct jwrite *w, const char *key, uint64_t v)
{
	write_separator(w, key);
	buf_printf(w->to, "%llu", (unsigned long long)v);
}

/* Format v, which is finite, with the given number of digits; returns the length. */
static size_t format_decimal(char out[40], double v, int digits)
{
	char text[40];
	size_t n = 0;

	snprintf(text, sizeof text, "%.*g", digits, v);
	/* the locale of the caller may have another decimal point, even of several bytes */
	for (const char *p = text; *p; p++) {
		if (strchr("0123456789+-e", *p))
			out[n++] = *p;
		else if (n && out[n - 1] != '.')
			out[n++] = '.';
	}
	return n;
}

void jw_num(struct jwrite *w, const char *key, double v)
{
	char text[40];

	if (!isfinite(v)) {
		jw_null(w, key);
		return;
	}
	write_separator(w, key);
	buf_put(w->to, text, format_decimal(text, v, 9));
}

void jw_bool(struct jwrite *w, const char *key, int v)
{
	write_separator(w, key);
	buf_puts(w->to, v ? "true" : "false");
}

void jw_null(struct jwrite *w, const char *key)
{
	write_separator(w, key);
	buf_puts(w->to, "null");
}

void jw_raw(struct jwrite *w, const char *key, const char *json, size_t n)
{
	write_separator(w, key);
	buf_put(w->to, json, n);
}

/* Write d with a decimal point or an exponent, so that it is not read as an integer. */
static void put_real(struct buf *to, double d)
{
	static const int digits[] = { 9, 15, 16, 17 };
	char text[40];
	struct json back = { 0 };
	size_t n = 0;

	if (!isfinite(d)) {
		buf_puts(to, "null");
		return;
	}
	for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) {
		n = format_decimal(text, d, digits[i]);
		if (!memchr(text, '.', n) && !memchr(text, 'e', n)) {
			memcpy(text + n, ".0", 2);
			n += 2;
		}
		jread_num(&back, text, n);
		if (back.d == d)
			break;
	}
	buf_put(to, text, n);
}

/* Write a scalar, or the opening bracket of an array or object. */
static void write_scalar(struct buf *to, const struct json *v)
{
	switch (v->kind) {
	case JSON_NULL:
		buf_puts(to, "null");
		break;
	case JSON_FALSE:
		buf_puts(to, "false");
		break;
	case JSON_TRUE:
		buf_puts(to, "true");
		break;
	case JSON_INT:
		buf_printf(to, "%lld", (long long)v->i);
		break;
	case JSON_UINT:
		buf_printf(to, "%llu", (unsigned long long)v->u);
		break;
	case JSON_REAL:
		put_real(to, v->d);
		break;
	case JSON_STRING:
		write_quoted(to, v->s, v->n);
		break;
	case JSON_ARRAY:
		buf_putc(to, '[');
		break;
	case JSON_OBJECT:
		buf_putc(to, '{');
		break;
	}
}

void jw_value(struct jwrite *w, const char *key, const struct json *v)
{
	static const struct json none = { .kind = JSON_NULL };
	struct buf around; /* stack of the values that contain v */

	write_separator(w, key);
	buf_init(&around, w->to->who);
	for (v = v ? v : &none; v && !w->to->bad;) {
		write_scalar(w->to, v);
		if (json_first(v)) {
			buf_put(&around, &v, sizeof v);
			v = v->first;
		} else {
			if (v->kind >= JSON_ARRAY)
				buf_putc(w->to, v->kind == JSON_ARRAY ? ']' : '}');
			while (around.len && !v->next) {
				around.len -= sizeof v;
				memcpy(&v, around.at + around.len, sizeof v);
				buf_putc(w->to, v->kind == JSON_ARRAY ? ']' : '}');
			}
			v = around.len ? v->next : NULL;
			if (v)
				buf_putc(w->to, ',');
		}
		if (around.bad)
			w->to->bad = 1;
		if (v && v->key) {
			write_quoted(w->to, v->key, v->key_n);
			buf_putc(w->to, ':');
		}
	}
	buf_fini(&around);
}

void jw_line(struct jwrite *w)
{
	must(!w->depth);
	buf_putc(w->to, '\n');
}
