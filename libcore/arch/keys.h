/* arch/keys.h - keys of a checkpoint, GGUF or config.json, with one interface.  key_list.h lists
 * the keys.  Read through arch.h. */
#ifndef ARCH_KEYS_H
#define ARCH_KEYS_H
#include <infer/file.h>
#include "base/json.h"
#include "base/jwrite.h"

enum arch_key {
#define KEY(id, gguf, hf, rule, a, b) K_##id,
#include "arch/key_list.h"
#undef KEY
	ARCH_KEYS
};
enum key_rule { KEY_READ, KEY_NEUTRAL, KEY_HARMLESS, KEY_SLIDING };
struct key_row {
	const char *id, *gguf, *hf;
	enum key_rule rule;
	double ok[2]; /* KEY_NEUTRAL: the accepted values */
};
extern const struct key_row arch_key_rows[ARCH_KEYS];

enum { KEY_NAME = 128 };      /* bytes of a name */
#define KEY_SCALAR UINT64_MAX /* as an index: the value must not be a list */
enum key_kind { KEY_ABSENT, KEY_NUMBER, KEY_FLAG, KEY_TEXT };
struct key_found {
	enum key_kind kind; /* kind of the value, or of the list's elements */
	int list;           /* 1: the value is a list */
	uint64_t n;         /* elements of the list; else 1 */
};

/* a key found in a checkpoint, in key_list.h or not */
struct key_seen {
	enum arch_key key; /* ARCH_KEYS: not in key_list.h */
	struct infer_str name;
	int empty;         /* 1: null, or an empty list or object: the key is ignored */
	const void *value; /* for arch_keys_kind.show */
};

/* The keys of one checkpoint, borrowed. Reading a value of the wrong kind returns INFER_EFORMAT,
 * which names the key. Only keys that are present (arr) may be read. */
struct arch;
struct arch_keys {
	const struct arch_keys_kind *kind;
	const struct arch *arch;
	const infer_file *file;    /* set by arch_keys_gguf */
	const struct json *config; /* set by arch_keys_hf */
};
struct arch_keys_kind {
	/* Write the name that the key has in the checkpoint, for messages. */
	void (*name)(const struct arch_keys *k, enum arch_key key, char out[KEY_NAME]);
	/* Return the kind and number of values of a key; KEY_ABSENT: it is absent. */
	struct key_found (*arr)(const struct arch_keys *k, enum arch_key key);
	/* Read integer i of a list, or the value itself if it is not a list. */
	int (*whole)(const struct arch_keys *k, enum arch_key key, uint64_t i, int64_t *v,
	             infer_error *err);
	/* Like whole, but read any number, rounded to float32; i may be KEY_SCALAR. */
	int (*real)(const struct arch_keys *k, enum arch_key key, uint64_t i, double *v,
	            infer_error *err);
	/* Read true or false, or a string. */
	int (*flag)(const struct arch_keys *k, enum arch_key key, int *v, infer_error *err);
	int (*str)(const struct arch_keys *k, enum arch_key key, struct infer_str *v,
	           infer_error *err);
	/* Iterate over all keys of the architecture in the checkpoint; *cursor starts at 0. 
	 * Returns 0 after the last key. */
	int (*next)(const struct arch_keys *k, uint64_t *cursor, struct key_seen *seen);
	/* Write the value as JSON for a message; long lists and strings are cut. */
	void (*show)(const struct arch_keys *k, const struct key_seen *seen, struct jwrite *w);
	/* 1: BLOCK_COUNT includes the layers of multi-token prediction */
	int counts_next;
	/* Check the checkpoint as a whole, before any key is read. */
	int (*check)(const struct arch_keys *k, infer_error *err);
};
/* Return the keys "<architecture>.<name>" of a GGUF file. */
struct arch_keys arch_keys_gguf(const infer_file *file, const struct arch *a);
/* Complete *seen, whose key is set, from a member of config.json.  If the member is read together
 * with another key, seen->key becomes that key. */
void arch_keys_hf_see(const struct arch_keys *k, const struct json *member, struct key_seen *seen);
void arch_keys_hf_show(const struct arch_keys *k, const struct key_seen *seen, struct jwrite *w);
/* Check lists and objects of config.json that have only one supported form. INFER_EUNSUP */
int arch_keys_hf_lists(const struct arch_keys *k, infer_error *err);
/* Return the value of a key as config.json has it; NULL: absent or null. */
const struct json *arch_keys_plain(const struct arch_keys *k, enum arch_key key);
/* Convert the value *v of a key that a family stores in another form.  Returns 1 with the converted
 * value in *v (NULL: absent; it may point to *room), or 0 if the key needs no conversion. */
typedef int arch_member(const struct arch_keys *k, enum arch_key key, const struct json **v,
                        struct json *room);
static inline struct json arch_json_real(double d)
{
	return (struct json){ .kind = JSON_REAL, .d = d };
}
static inline struct json arch_json_int(int64_t i)
{
	return (struct json){ .kind = JSON_INT, .i = i };
}
/* Return the quantile of the standard normal distribution: x with P(X <= x) = p.  -inf if p is 0,
 * NaN if p >= 1. */
double arch_keys_quantile(double p);
/* Return the keys of a config.json whose class is one of a->hf. */
struct arch_keys arch_keys_hf(const struct json *config, const struct arch *a);
#endif
