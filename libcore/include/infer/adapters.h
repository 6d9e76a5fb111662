/* infer/adapters.h - adapters of one model under names, as requests choose them.   floor: job
 *
 * A set is Shared: its functions may be called by any thread at any time.  Each
 * request holds references: an adapter that is removed is freed after the last request that uses it. */
#ifndef INFER_ADAPTERS_H
#define INFER_ADAPTERS_H
#include <stddef.h>
#include <stdint.h>
#include <infer/lora.h>
#include <infer/status.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_adapters infer_adapters;

enum { INFER_ADAPTERS_MOST = 4096, INFER_ADAPTER_NAME = 256 }; /* of a set; bytes of a name */

struct infer_adapter {
	const char *name;
	infer_lora *lora;
	int64_t id;    /* 0, 1, ... in the order of adding; never used again */
	float scale;   /* of a request whose `model` is the name */
	float applied; /* of a request that chooses no adapters; 0: not used */
};

int infer_adapters_new(infer_adapters **out, infer_error *err); /* INFER_ENOMEM */
/* Drop the references of the set. */
void infer_adapters_free(infer_adapters *s);
/* Add an adapter and a reference to a->lora.  a->id is ignored; a->name is copied.  NULL: the name in
 * the adapter's file, else the name of that file without its extension; if another has it, with -2,
 * -3, ... appended.
 * INFER_EINVAL  the name is used, empty, too long or not UTF-8; a number is not finite; the set has
 *               INFER_ADAPTERS_MOST; more than INFER_LORA_USES would be applied
 * INFER_ENOMEM */
int infer_adapters_add(infer_adapters *s, const struct infer_adapter *a, infer_error *err);
/* Remove the adapter with this name of n bytes.  INFER_EINVAL  there is none */
int infer_adapters_remove(infer_adapters *s, const char *name, size_t n, infer_error *err);
/* Set `applied` of all adapters: of id[i] to scale[i], of the others to 0.
 * INFER_EINVAL  an unknown id, or one twice; a scale is not finite; more than INFER_LORA_USES are not
 *               0.  Nothing is changed. */
int infer_adapters_apply(infer_adapters *s, const int64_t *id, const float *scale, size_t n,
                         infer_error *err);
/* Copy the set in the order of ids, with references to the adapters: *list [*n], freed by
 * infer_adapters_release.  s NULL: none.  INFER_ENOMEM */
int infer_adapters_copy(struct infer_adapter **list, size_t *n, const infer_adapters *s,
                        infer_error *err);
void infer_adapters_release(struct infer_adapter *list, size_t n);
/* True if an adapter has this name of n bytes.  s NULL: none has */
int infer_adapters_have(const infer_adapters *s, const char *name, size_t n);
/* Return the largest sum of ranks of INFER_LORA_USES adapters, for infer_engine_opts.lora_rank.
 * s NULL: 0 */
int32_t infer_adapters_rank(const infer_adapters *s);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
