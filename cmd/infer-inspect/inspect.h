/* infer-inspect/inspect.h - what the files of infer-inspect share. */
#ifndef INFER_INSPECT_INSPECT_H
#define INFER_INSPECT_INSPECT_H
#include <infer/file.h>
#include "base/buf.h"
#include "base/jwrite.h"
#include "common/chat.h"
#include "common/opt.h"
#include "common/start.h"

struct inspect_opts {
	struct start start;
	const char *model;
	struct opt_list files; /* tokens, template: texts */
	struct chat_args chat;
	int json, no_stdin, raw, special, bos, source;
};

/* One row of the table of subjects in main.c.  run: the answer into `out` (text, or JSON lines with
 * o->json), which the caller writes; words: what follows the subject. */
struct subject {
	const char *name;
	int takes_words, takes_talk, needs_file;
	int (*run)(struct buf *out, const struct inspect_opts *o, const infer_file *file,
	           const struct opt_rest *words, infer_error *err);
};
int show(struct buf *out, const struct inspect_opts *o, const infer_file *file,
         const struct opt_rest *words, infer_error *err);
int tensors(struct buf *out, const struct inspect_opts *o, const infer_file *file,
            const struct opt_rest *words, infer_error *err);
int tokens(struct buf *out, const struct inspect_opts *o, const infer_file *file,
           const struct opt_rest *words, infer_error *err);
int template(struct buf *out, const struct inspect_opts *o, const infer_file *file,
             const struct opt_rest *words, infer_error *err);
int verify(struct buf *out, const struct inspect_opts *o, const infer_file *file,
           const struct opt_rest *words, infer_error *err);
int hw(struct buf *out, const struct inspect_opts *o, const infer_file *file,
       const struct opt_rest *words, infer_error *err);

/* s as people read it: control characters and ill-formed parts escaped, at most `max` bytes of
 * it. */
void put_plain(struct buf *out, struct infer_str s, size_t max);
/* Bytes with a unit behind: "1185504 (1.1 MiB)". */
void put_bytes(struct buf *out, uint64_t bytes);
#endif
