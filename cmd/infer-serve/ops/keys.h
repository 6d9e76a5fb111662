/* infer-serve/ops/keys.h - API keys: read the key file, and look up a key in constant time.
 *
 * Keys are divided into groups.  Requests with keys of one group share the prefix cache, files and
 * batches; requests of other groups cannot observe them. */
#ifndef INFER_SERVE_OPS_KEYS_H
#define INFER_SERVE_OPS_KEYS_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>

struct key {
	uint8_t digest[32]; /* SHA-256 of the key; comparing digests takes constant time */
	/* SHA-256 of "group= NAME"; the same as digest if no group is named */
	uint8_t group[32];
	int32_t weight, priority;
	int is_operator; /* 1: may see requests of all groups */
};
struct keys {
	struct key *at;
	size_t n;
};
/* Read one key per line, followed by weight=N, priority=N, group=NAME and "operator". Blank lines and
 * lines that begin with # are skipped.
 * INFER_EFORMAT  the file has no key; a key is longer than KEYS_LONGEST or has characters that a header
 *                cannot have; an unknown word follows the key. The message names the line.
 * INFER_EIO INFER_ENOMEM */
enum { KEYS_LONGEST = 512, KEYS_GROUP = 64, KEYS_FILE = 1 << 20 };
int keys_read(struct keys *out, const char *path, infer_error *err);
void keys_fini(struct keys *k);
/* Return 1 + the index of the key with this text; 0: none. Always compares with all keys. */
size_t keys_match(const struct keys *k, const char *key, size_t n);

/* Write the name of a key, or of its group: half of the digest in hexadecimal. */
enum { KEYS_NAME = 32 };
void keys_name(char to[KEYS_NAME + 1], const struct key *k);
void keys_group(char to[KEYS_NAME + 1], const struct key *k);
/* True if one of the keys has this name. */
int keys_have(const struct keys *k, const char *name);
/* True if a key belongs to a group other than `group` (empty: to any group). */
int keys_of_others(const struct keys *k, const char *group);

/* The key in the value of the header Authorization, and its length; NULL: none. */
const char *keys_bearer(const char *value, size_t *n);
#endif
