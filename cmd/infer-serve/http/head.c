/* infer-serve/http/head.c - parse the header fields of a request. */
#include "infer-serve/http/head.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int head_is_json(const char *type)
{
	static const char json[] = "application/json", suffix[] = "+json";
	size_t n;

	if (!type)
		return 1;
	type += strspn(type, " \t");
	n = strcspn(type, "; \t");
	if (n == sizeof json - 1)
		return !strncasecmp(type, json, n);
	return n > sizeof suffix && memchr(type, '/', n - (sizeof suffix - 1)) &&
	       !strncasecmp(type + n - (sizeof suffix - 1), suffix, sizeof suffix - 1);
}

int head_is_id(const char *id)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789-_.:/";
	size_t n = strlen(id);

	return n >= 1 && n <= 128 && strspn(id, allowed) == n;
}

int64_t head_length(const char *value)
{
	int64_t n = 0;

	if (!value || !*value || value[strspn(value, "0123456789")])
		return -1;
	for (; *value; value++) {
		if (n > (INT64_MAX - 9) / 10)
			return INT64_MAX;
		n = n * 10 + (*value - '0');
	}
	return n;
}

int head_is_host(const char *at, size_t n)
{
	static const char
		address[] = "0123456789abcdefABCDEF:.",
		name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
			 "!$&'()*+;=%";
	int is_v6 = n && *at == '[';
	const char *allowed = is_v6 ? address : name;
	size_t i = (size_t)is_v6;

	while (i < n && at[i] && strchr(allowed, at[i]))
		i++;
	if (is_v6) {
		if (i < 4 || i >= n || at[i] != ']')
			return 0;
		i++;
	}
	if (i < n && at[i] == ':')
		for (i++; i < n && at[i] >= '0' && at[i] <= '9';)
			i++;
	return i == n;
}

int head_seconds(double *s, const char *value)
{
	size_t whole, n;

	*s = 0;
	if (!value)
		return 1;
	whole = n = strspn(value, "0123456789");
	if (value[n] == '.')
		n += 1 + strspn(value + n + 1, "0123456789");
	if (!whole || value[n] || n > 15)
		return 0;
	*s = strtod(value, NULL);
	return *s > 0 && *s <= HEAD_SECONDS;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)((at - digits) % 16) : -1;
}

size_t head_unescape(void *unused, struct MHD_Connection *c, char *text)
{
	char *to = text;

	(void)unused, (void)c;
	for (const char *at = text; *at; at++, to++) {
		int high = *at == '%' ? hex_digit(at[1]) : -1,
		    low = high < 0 ? -1 : hex_digit(at[2]);

		*to = *at;
		if (low >= 0 && (high || low)) {
			*to = (char)(high * 16 + low);
			at += 2;
		}
	}
	*to = 0;
	return (size_t)(to - text);
}

/* True for n hexadecimal digits in lower case that are not all 0. */
static int is_hex(const char *at, size_t n)
{
	return strspn(at, "0123456789abcdef") >= n && strspn(at, "0") < n;
}

int head_parent(char id[17], const char *value)
{
	memcpy(id, value + 36, 16);
	id[16] = 0;
	return strtol(value + 53, NULL, 16) & 1;
}

int head_trace(char id[33], const char *value)
{
	static const char any[] = "0123456789abcdef";
	size_t n = value ? strlen(value) : 0;

	/* 00-TRACE-PARENT-FLAGS; later versions may append a hyphen and more */
	*id = 0;
	if (n < 55 || strspn(value, any) != 2 || !strncmp(value, "ff", 2) || value[2] != '-' ||
	    value[35] != '-' || value[52] != '-' || strspn(value + 53, any) != 2 ||
	    !is_hex(value + 3, 32) || !is_hex(value + 36, 16) ||
	    (n > 55 && (value[55] != '-' || !strncmp(value, "00", 2))))
		return 0;
	memcpy(id, value + 3, 32);
	id[32] = 0;
	return 1;
}
