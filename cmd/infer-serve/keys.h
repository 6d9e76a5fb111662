/* infer-serve/keys.h - API keys: those that are accepted, and the comparison with the one that was
 * sent, which takes the same time for every key. */
#ifndef INFER_SERVE_KEYS_H
#define INFER_SERVE_KEYS_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>

/* SHA-256 of each key, so that neither its length nor its first bytes make a difference. */
struct key {
	uint8_t digest[32];
	int32_t weight, priority;
};
struct keys {
	struct key *at;
	size_t n;
};
/* A key a line, and behind it weight=N and priority=N; blank lines, and lines that begin with #,
 * are none.
 * INFER_EFORMAT  there is no key, one is longer than KEYS_LONGEST or has characters that no header
 *                can have, by its line; INFER_EIO INFER_ENOMEM */
enum { KEYS_LONGEST = 512, KEYS_FILE = 1 << 20 };
int keys_read(struct keys *out, const char *path, infer_error *err);
void keys_fini(struct keys *k);
/* The number of the key that the n bytes are, from 1; 0: they are none.  Compares with all. */
size_t keys_match(const struct keys *k, const char *key, size_t n);
/* What a key is known by: half of its digest, hexadecimal.  keys_have: one of them is known by it. */
enum { KEYS_OWNER = 32 };
void keys_owner(char to[KEYS_OWNER + 1], const struct key *k);
int keys_have(const struct keys *k, const char *owner);
/* The key in the value of a header Authorization, and its length; NULL: it has none. */
const char *keys_bearer(const char *value, size_t *n);
#endif
