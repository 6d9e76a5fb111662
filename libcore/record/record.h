/* record/record.h - inside the records: one line at a time in the writer's buffer */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H
#include <infer/record.h>
#include "base/buf.h"
#include "base/jwrite.h"
#include <sys/types.h>

struct infer_writer {
	int fd;
	int owned;    /* fd where it is ours to close, else -1 */
	int started;  /* a record was written: no "v" any more */
	int has_kind; /* the line in work is a record of ours */
	int dirty;    /* written to since the last infer_writer_sync */
	char *path;   /* of a file to resume, and what it has in whole records; else NULL */
	off_t bytes;
	struct buf line;
	struct jwrite w;
	const infer_model *model; /* whose id is kept: it takes a hash of the header */
	char id[65];
};

/* jsonl.c: `id`, of a request; flags: INFER_RECORD_ID_WHOLE */
void record_id(struct jwrite *w, const char *id, uint32_t flags);
/* outfile.c: the file of a batch.  Opened or made, locked, its name on the disk. */
int outfile_open(int *fd, const char *path, infer_error *err);
/* Written anew without the bytes [from, to) of the holes, in rising order, by another name that
 * takes its place: *fd is the new one, *end what it has. */
struct outfile_hole {
	off_t from, to;
};
int outfile_fill(int *fd, const char *path, off_t *end, const struct outfile_hole *holes, size_t n,
                 infer_error *err);
/* INFER_EIO  it has no name any more, or less than `bytes` */
int outfile_check(int fd, const char *path, off_t bytes, infer_error *err);

/* jsonl.c: a line, and its parts.  kind NULL: a line in another's form, without `v` and `kind` */
struct jwrite *record_begin(infer_writer *w, const char *kind);
int record_end(infer_writer *w, infer_error *err);
void record_text(struct jwrite *w, const char *text, size_t n);
void record_usage(struct jwrite *w, const struct infer_usage *u, double load_ms);
void record_tokens(struct jwrite *w, const struct infer_completion *c);
const char *record_finish(const struct infer_completion *c);
/* reply.c: what there is of reasoning and calls; message: in the form of OpenAI's message, under
 * its names */
void record_reply(struct jwrite *w, const struct infer_completion *c, const char *id,
                  int32_t index);
void record_message(struct jwrite *w, const struct infer_completion *c, const char *id,
                    int32_t index);

/* answer.c: in OpenAI's form */
int answer_token_text(const infer_tokenizer *t, int32_t id, const char **bytes, size_t *n);
/* What sets the forms apart. */
struct answer_form {
	const char *id, *object; /* what ids begin with */
	/* of one choice */
	void (*put)(struct jwrite *w, const struct infer_completion *c, const char *id,
	            int32_t index);
	void (*put_logprobs)(struct jwrite *w, const infer_tokenizer *t,
	                     const struct infer_completion *c);
};
extern const struct answer_form answer_chat; /* answer_chat.c */

/* run.c: what a model is called, and the object `run` (contract, promise 7) */
void record_model_name(struct jwrite *w, const char *key, const infer_model *m);
void record_run(infer_writer *w, const struct infer_run_info *run);

/* bench.c: fields about the machine, and its ceilings, into the object that is open */
void record_machine(struct jwrite *w, int32_t threads);
void record_ceilings(struct jwrite *w, const struct infer_ceilings *c);
#endif
