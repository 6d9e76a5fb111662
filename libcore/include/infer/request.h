/* infer/request.h - requests as JSON lines, and what their texts become.   floor: record
 *
 * man 5 infer-jsonl defines every field of a request. */
#ifndef INFER_REQUEST_H
#define INFER_REQUEST_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/engine.h>
#include <infer/model.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Texts that end a match of DRY, as token sequences: every token that holds one of them, and the
 * encoding of each that takes several.  Immutable. */
typedef struct infer_breakers infer_breakers;
/* texts: borrowed; n 0: none ends a match.  O(vocabulary).
 * INFER_EINVAL  an empty text
 * INFER_ENOMEM */
int  infer_breakers_new(infer_breakers **out, const infer_tokenizer *t,
                        const struct infer_str *texts, size_t n, infer_error *err);
/* The fields of *o that list them; borrowed from b. */
void infer_breakers_use(const infer_breakers *b, struct infer_sample_opts *o);
void infer_breakers_free(infer_breakers *b);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
