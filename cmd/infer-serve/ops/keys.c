/* infer-serve/ops/keys.c - API keys: reading the key file, and comparing a key that was sent. */
#include "infer-serve/ops/fair.h"
#include "infer-serve/ops/keys.h"
#include "common/file.h"
#include "base/err.h"
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static void hash_api_key(uint8_t to[32], const char *text, size_t n)
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, text, n);
	sha256_end(&s, to);
}

static int add_key(struct keys *k, const char *key, size_t n, infer_error *err)
{
	struct key *more = mem_realloc(MEM_BASE, k->at, k->n + 1, sizeof *more);

	if (!more)
		return err_set(err, INFER_ENOMEM, "out of memory for API keys");
	k->at = more;
	more += k->n++;
	*more = (struct key){ .weight = 1 };
	hash_api_key(more->digest, key, n);
	memcpy(more->group, more->digest, sizeof more->group);
	return INFER_OK;
}

/* Parse `name` followed by an integer from lo to FAIR_MOST. Returns 0 if the text is malformed. */
static int parse_number(int32_t *to, const char *name, int32_t lo, const char *at, size_t n)
{
	size_t start = strlen(name);
	int32_t value = 0;
	int minus;

	if (n <= start || memcmp(at, name, start))
		return 0;
	minus = lo < 0 && at[start] == '-';
	start += (size_t)minus;
	if (start == n || n - start > 3)
		return 0;
	for (; start < n; start++) {
		if (at[start] < '0' || at[start] > '9')
			return 0;
		value = value * 10 + (at[start] - '0');
	}
	*to = minus ? -value : value;
	return *to >= lo && *to <= FAIR_MOST;
}

/* Parse group=NAME. "group= NAME" is hashed, with a space, which keys cannot contain: so no key has the
 * digest of a group. */
static int parse_group(struct key *k, const char *at, size_t n)
{
	static const char word[] = "group=", allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
							 "abcdefghijklmnopqrstuvwxyz0123456789-_.";
	size_t start = sizeof word - 1;
	char text[KEYS_GROUP + sizeof word + 1];

	if (n <= start || n - start > KEYS_GROUP || memcmp(at, word, start))
		return 0;
	snprintf(text, sizeof text, "%s %.*s", word, (int)(n - start), at + start);
	if (strspn(text + start + 1, allowed) != n - start)
		return 0;
	hash_api_key(k->group, text, strlen(text));
	return 1;
}

static int parse_operator(struct key *k, const char *at, size_t n)
{
	static const char word[] = "operator";

	int is = n == sizeof word - 1 && !memcmp(at, word, n);

	k->is_operator |= is;
	return is;
}

/* Parse the words that follow a key on its line.  Returns 0 if one is unknown. */
static int parse_words(struct key *k, const char *at, size_t n)
{
	while (n) {
		size_t blank = 0, word = 0;

		while (blank < n && strchr(" \t", at[blank]))
			blank++;
		at += blank, n -= blank;
		while (word < n && !strchr(" \t", at[word]))
			word++;
		if (word && !parse_number(&k->weight, "weight=", 1, at, word) &&
		    !parse_number(&k->priority, "priority=", -FAIR_MOST, at, word) &&
		    !parse_group(k, at, word) && !parse_operator(k, at, word))
			return 0;
		at += word, n -= word;
	}
	return 1;
}

/* Parse one line, without its line end. */
static int parse_line(struct keys *k, const char *path, int number, const char *at, size_t n,
                      infer_error *err)
{
	size_t key = 0;

	while (n && strchr(" \t\r", at[n - 1]))
		n--;
	while (n && strchr(" \t", *at))
		at++, n--;
	if (!n || *at == '#')
		return INFER_OK;
	while (key < n && at[key] > ' ' && at[key] <= '~')
		key++;
	if (key > KEYS_LONGEST)
		return err_set(err, INFER_EFORMAT, "%s: line %d: a key is longer than %d bytes",
		               path, number, KEYS_LONGEST);
	if (!key || (key < n && !strchr(" \t", at[key])))
		return err_set(err, INFER_EFORMAT, "%s: line %d: a key must be printable ASCII",
		               path, number);
	TRY(add_key(k, at, key, err));
	return parse_words(&k->at[k->n - 1], at + key, n - key)
	               ? INFER_OK
	               : err_set(err, INFER_EFORMAT,
	                         "%s: line %d: a key must have no space, and only weight=N (1 to "
	                         "%d), priority=N (-%d to %d), group=NAME (1 to %d letters, "
	                         "digits and ._-) and operator may follow it",
	                         path, number, FAIR_MOST, FAIR_MOST, FAIR_MOST, KEYS_GROUP);
}

static int parse_lines(struct keys *k, const char *path, const char *at, size_t n, infer_error *err)
{
	int number = 0;

	while (n) {
		const char *end = memchr(at, '\n', n);
		size_t line = end ? (size_t)(end - at) : n;

		TRY(parse_line(k, path, ++number, at, line, err));
		line += end != NULL;
		at += line;
		n -= line;
	}
	return k->n ? INFER_OK
	            : err_set(err, INFER_EFORMAT, "%s: must contain at least one API key", path);
}

int keys_read(struct keys *out, const char *path, infer_error *err)
{
	struct keys k = { NULL, 0 };
	struct buf text;

	*out = k;
	buf_init(&text, MEM_BASE);
	int rc = file_read(&text, path, KEYS_FILE, err);

	if (!rc)
		rc = parse_lines(&k, path, text.at ? text.at : "", text.len, err);
	if (text.at)
		explicit_bzero(text.at, text.len);
	buf_fini(&text);
	if (rc)
		keys_fini(&k);
	*out = k;
	return rc;
}

void keys_fini(struct keys *k)
{
	mem_free(k->at);
	*k = (struct keys){ NULL, 0 };
}

size_t keys_match(const struct keys *k, const char *key, size_t n)
{
	uint8_t sent[32];
	size_t found = 0;

	hash_api_key(sent, key, n);
	for (size_t i = 0; i < k->n; i++) {
		unsigned differ = 0;

		for (int b = 0; b < 32; b++)
			differ |= (unsigned)(k->at[i].digest[b] ^ sent[b]);
		/* mask: all ones if the digests are equal (differ is 0 ... 255); the last equal key is
		 * returned */
		size_t mask = 0 - (size_t)((differ - 1) >> 31);

		found = (found & ~mask) | ((i + 1) & mask);
	}
	return found;
}

static void write_name(char to[KEYS_NAME + 1], const uint8_t digest[32])
{
	for (int i = 0; i < KEYS_NAME / 2; i++)
		snprintf(to + 2 * i, 3, "%02x", digest[i]);
}

void keys_name(char to[KEYS_NAME + 1], const struct key *k) { write_name(to, k->digest); }
void keys_group(char to[KEYS_NAME + 1], const struct key *k) { write_name(to, k->group); }

int keys_have(const struct keys *k, const char *name)
{
	char mine[KEYS_NAME + 1];

	for (size_t i = 0; i < k->n; i++) {
		keys_name(mine, &k->at[i]);
		if (!strcmp(mine, name))
			return 1;
	}
	return 0;
}

int keys_of_others(const struct keys *k, const char *group)
{
	char other[KEYS_NAME + 1];

	for (size_t i = 0; i < k->n; i++) {
		keys_group(other, &k->at[i]);
		if (strcmp(other, group))
			return 1;
	}
	return 0;
}

const char *keys_bearer(const char *value, size_t *n)
{
	if (!value || strncasecmp(value, "Bearer ", 7))
		return NULL;
	value += 7;
	value += strspn(value, " ");
	*n = strlen(value);
	while (*n && value[*n - 1] == ' ')
		--*n;
	return value;
}
