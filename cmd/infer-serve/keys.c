/* infer-serve/keys.c - API keys: those that are accepted, and the comparison with one that was sent. */
#include "infer-serve/keys.h"
#include "common/file.h"
#include "base/err.h"
#include "base/sha256.h"

#include <string.h>
#include <strings.h>

static int add(struct keys *k, const char *key, size_t n, infer_error *err)
{
	uint8_t(*more)[32] = mem_realloc(MEM_BASE, k->digest, k->n + 1, sizeof *more);
	struct sha256 s;

	if (!more)
		return err_set(err, INFER_ENOMEM, "out of memory for API keys");
	k->digest = more;
	sha256_init(&s);
	sha256_add(&s, key, n);
	sha256_end(&s, k->digest[k->n++]);
	return INFER_OK;
}

/* One line, without its end. */
static int take_line(struct keys *k, const char *path, int number, const char *at, size_t n,
                     infer_error *err)
{
	while (n && strchr(" \t\r", at[n - 1]))
		n--;
	while (n && strchr(" \t", *at))
		at++, n--;
	if (!n || *at == '#')
		return INFER_OK;
	if (n > KEYS_LONGEST)
		return err_set(err, INFER_EFORMAT, "%s: line %d: a key is longer than %d bytes",
		               path, number, KEYS_LONGEST);
	for (size_t i = 0; i < n; i++)
		if (at[i] <= ' ' || at[i] > '~')
			return err_set(err, INFER_EFORMAT,
			               "%s: line %d: a key has a space or a character that is not "
			               "ASCII",
			               path, number);
	return add(k, at, n, err);
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
	mem_free(k->digest);
	*k = (struct keys){ NULL, 0 };
}

int keys_match(const struct keys *k, const char *key, size_t n)
{
	struct sha256 s;
	uint8_t digest[32];
	unsigned found = 0;

	sha256_init(&s);
	sha256_add(&s, key, n);
	sha256_end(&s, digest);
	for (size_t i = 0; i < k->n; i++) {
		unsigned differ = 0;

		for (int b = 0; b < 32; b++)
			differ |= (unsigned)(k->digest[i][b] ^ digest[b]);
		found |= differ - 1; /* all ones where they are equal, for differ < 256 */
	}
	return (int)(found >> 31);
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
