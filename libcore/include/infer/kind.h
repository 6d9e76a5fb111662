/* infer/kind.h - the kinds of the records that all programs share.   floor: record */
#ifndef INFER_KIND_H
#define INFER_KIND_H
#include <stdint.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* record/kind_list.h has one row per kind. */
enum infer_kind {
	INFER_KIND_COMPLETION,
	INFER_KIND_REQUEST,
	INFER_KIND_TOKEN,
	INFER_KIND_SCORE,
	INFER_KIND_EMBEDDING,
	INFER_KIND_REPLAY,
	INFER_KIND_ERROR,
	INFER_KIND_STATS,
	INFER_KIND_BENCH,
	INFER_KIND_EVAL,
	INFER_KIND_FILE,
	INFER_KIND_META,
	INFER_KIND_TENSOR,
	INFER_KIND_VERIFY,
	INFER_KIND_DIFF,
	INFER_KIND_TEMPLATE,
	INFER_KIND_GRAMMAR,
	INFER_KIND_HW,
	INFER_KIND_PLAN,
	INFER_KIND_IMATRIX,
	INFER_KIND_QUANT,
	INFER_KIND_ACCESS,
	INFER_KIND_COMPARE,
	INFER_KIND_MODEL,
	INFER_KIND_ADAPTER,
	INFER_KIND_COUNT
};
struct infer_record_kind {
	const char *name;     /* "token" */
	const char *programs; /* the programs that write it, separated by spaces; "": only read */
	const char *about;    /* "one token" */
};
/* Return the row of a kind, or NULL if there is no such kind.  Static.  Any thread. */
const struct infer_record_kind *infer_record_kind(int kind);

/* Begin a record in *to (base/buf.h) and initialise w, to which the caller writes the fields
 * (base/jwrite.h); end the record, with a newline.  For programs of this tree. to->bad: out of
 * memory. */
enum { INFER_RECORD_FIRST = 1 << 0 }; /* flags: the first record of its stream, which has "v":1 */
struct jwrite;
struct buf;
void infer_record_open(struct jwrite *w, struct buf *to, enum infer_kind kind, uint32_t flags);
void infer_record_close(struct jwrite *w);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
