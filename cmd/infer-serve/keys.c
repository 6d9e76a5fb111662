/* infer-serve/keys.c - API keys: those that are accepted, and the comparison with one that was sent. */
#include "infer-serve/fair.h"
#include "infer-serve/keys.h"
#include "common/file.h"
#include "base/err.h"
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int add(struct keys *k, const char *key, size_t n, infer_error *err)
{
	struct key *more = mem_realloc(MEM_BASE, k->at, k->n + 1, sizeof *more);
	struct sha256 s;

	if (!more)
		return err_set(err, INFER_ENOMEM, "out of memory for API keys");
	k->at = more;
	more += k->n++;
	*more = (struct key){ .weight = 1 };
	sha256_init(&s);
	sha256_add(&s, key, n);
	sha256_end(&s, more->digest);
	return INFER_OK;
}

/* `name`N, a whole number from lo to FAIR_MOST.  0: it is something else. */
static int take_number(int32_t *to, const char *name, int32_t lo, const char *at, size_t n)
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

/* What a line says of its key, behind it. */
static int take_words(struct key *k, const char *at, size_t n)
{
	while (n) {
		size_t blank = 0, word = 0;

		while (blank < n && strchr(" \t", at[blank]))
			blank++;
		at += blank, n -= blank;
		while (word < n && !strchr(" \t", at[word]))
			word++;
		if (word && !take_number(&k->weight, "weight=", 1, at, word) &&
		    !take_number(&k->priority, "priority=", -FAIR_MOST, at, word))
			return 0;
		at += word, n -= word;
	}
	return 1;
}

/* One line, without its end. */
static int take_line(struct keys *k, const char *path, int number, const char *at, size_t n,
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
		return err_set(err, INFER_EFORMAT,
		               "%s: line %d: a key has a character that is not ASCII", path,
		               number);
	TRY(add(k, at, key, err));
	return take_words(&k->at[k->n - 1], at + key, n - key)
	               ? INFER_OK
	               : err_set(err, INFER_EFORMAT,
	                         "%s: line %d: a key has a space, or neither weight=N (1 to %d) "
	                         "nor priority=N (-%d to %d) follows it",
	                         path, number, FAIR_MOST, FAIR_MOST, FAIR_MOST);
}

static int take_lines(struct keys *k, const char *path, const char *at, size_t n, infer_error *err)
{
	int number = 0;

	while (n) {
		const char *end = memchr(at, '\n', n);
		size_t line = end ? (size_t)(end - at) : n;

		TRY(take_line(k, path, ++number, at, line, err));
		line += end != NULL;
		at += line;
		n -= line;
	}
	return k->n ? INFER_OK : err_set(err, INFER_EFORMAT, "%s: there is no key in it", path);
}

int keys_read(struct keys *out, const char *path, infer_error *err)
{
	struct keys k = { NULL, 0 };
	struct buf text;

	*out = k;
	buf_init(&text, MEM_BASE);
	int rc = file_read(&text, path, KEYS_FILE, err);

	if (!rc)
		rc = take_lines(&k, path, text.at ? text.at : "", text.len, err);
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
	struct sha256 s;
	uint8_t digest[32];
	size_t found = 0;

	sha256_init(&s);
	sha256_add(&s, key, n);
	sha256_end(&s, digest);
	for (size_t i = 0; i < k->n; i++) {
		unsigned differ = 0;

		for (int b = 0; b < 32; b++)
			differ |= (unsigned)(k->at[i].digest[b] ^ digest[b]);
		/* all ones where they are equal, for differ < 256; the last of equal keys counts */
		size_t mask = 0 - (size_t)((differ - 1) >> 31);

		found = (found & ~mask) | ((i + 1) & mask);
	}
	return found;
}

void keys_owner(char to[KEYS_OWNER + 1], const struct key *k)
{
	for (int i = 0; i < KEYS_OWNER / 2; i++)
		snprintf(to + 2 * i, 3, "%02x", k->digest[i]);
}

int keys_have(const struct keys *k, const char *owner)
{
	char mine[KEYS_OWNER + 1];

	for (size_t i = 0; i < k->n; i++) {
		keys_owner(mine, &k->at[i]);
		if (!strcmp(mine, owner))
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
