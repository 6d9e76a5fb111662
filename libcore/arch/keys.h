/* arch/keys.h - the keys of a checkpoint, whatever form it has: key_list.h names each once, and a kind of
 * checkpoint answers for it.  Read through arch.h. */
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
	double ok[2]; /* of KEY_NEUTRAL */
};
extern const struct key_row arch_key_rows[ARCH_KEYS];

enum { KEY_NAME = 128 };
#define KEY_SCALAR UINT64_MAX
enum key_kind { KEY_ABSENT, KEY_NUMBER, KEY_FLAG, KEY_TEXT };
struct key_found {
	enum key_kind kind; /* of the elements of a list */
	int list;
	uint64_t n; /* elements of a list; else 1 */
};

/* a key of a checkpoint, whether or not the list has it */
struct key_seen {
	enum arch_key key; /* ARCH_KEYS: no row of the list has its name */
	struct infer_str name;
	int empty;         /* null, or a list or object without members: it says nothing */
	const void *value; /* for arch_keys_kind.show */
};

/* One checkpoint, borrowed.  A value that does not fit the question is INFER_EFORMAT and names the key; a key that is
 * absent is not asked for. */
struct arch;
struct arch_keys {
	const struct arch_keys_kind *kind;
	const struct arch *arch;
	const infer_file *file;    /* of arch_keys_gguf */
	const struct json *config; /* of arch_keys_hf */
};
struct arch_keys_kind {
	/* as the checkpoint spells it, into out, for messages */
	void (*name)(const struct arch_keys *k, enum arch_key key, char out[KEY_NAME]);
	struct key_found (*arr)(const struct arch_keys *k, enum arch_key key);
	/* element i, or the value itself for i = 0 if it is not a list; KEY_SCALAR: must not be a
	 * list */
	int (*whole)(const struct arch_keys *k, enum arch_key key, uint64_t i, int64_t *v,
	             infer_error *err);
	/* as a float32 holds it, where the checkpoint has more digits than that */
	int (*real)(const struct arch_keys *k, enum arch_key key, uint64_t i, double *v,
	            infer_error *err);
	int (*flag)(const struct arch_keys *k, enum arch_key key, int *v, infer_error *err);
	int (*str)(const struct arch_keys *k, enum arch_key key, struct infer_str *v,
	           infer_error *err);
	/* The next key of the checkpoint that is about the architecture.  *cursor is 0 at first.
	 * Returns 0 after the last. */
	int (*next)(const struct arch_keys *k, uint64_t *cursor, struct key_seen *seen);
	/* Write the value as JSON, for a message: of long lists and strings the beginning. */
	void (*show)(const struct arch_keys *k, const struct key_seen *seen, struct jwrite *w);
	/* the number of layers has those in it that predict further tokens */
	int counts_next;
	/* What must hold before any key is believed. */
	int (*check)(const struct arch_keys *k, infer_error *err);
};
struct arch_keys arch_keys_gguf(const infer_file *file, const struct arch *a);
/* config: an object, config.json of a class that a.hf names. */
/* Complete *seen, of which key is set, from a member of config.json.  The key of a member that is read
 * with another key becomes that one's. */
void arch_keys_hf_see(const struct arch_keys *k, const struct json *member, struct key_seen *seen);
void arch_keys_hf_show(const struct arch_keys *k, const struct key_seen *seen, struct jwrite *w);
/* Lists and objects that are not in the one form supported: INFER_EUNSUP. */
int arch_keys_hf_lists(const struct arch_keys *k, infer_error *err);
/* The value of a member as it is; NULL: absent, or null. */
const struct json *arch_keys_plain(const struct arch_keys *k, enum arch_key key);
/* Members that a family stores in another form than key_list.h says: returns 1 and the value in *v (NULL: absent),
 * which may be *room, or 0 for the keys that it has as others do.  *v: the value as it is. */
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
/* The x that the part p of a normal distribution is below; -inf for 0, NaN above 1. */
double arch_keys_quantile(double p);
struct arch_keys arch_keys_hf(const struct json *config, const struct arch *a);
#endif
