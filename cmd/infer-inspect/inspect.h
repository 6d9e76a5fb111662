/* infer-inspect/inspect.h - what the files of infer-inspect share. */
#ifndef INFER_INSPECT_INSPECT_H
#define INFER_INSPECT_INSPECT_H
#include <infer/engine.h>
#include <infer/file.h>
#include <infer/machine.h>
#include <infer/record.h>
#include "base/buf.h"
#include "base/jwrite.h"
#include "base/os.h"
#include "common/chat.h"
#include "common/opt.h"
#include "common/start.h"

/* Of plan; 0: not given. */
struct plan_args {
	int64_t ctx, users, prompt, output, shared, chunk, threads;
	double ttft_ms, tpot_ms, price;
	uint64_t budget;
	const char *kv_type, *device;
	int table;
};

struct inspect_opts {
	struct start start;
	const char *model;
	struct opt_list files; /* tokens, template: texts */
	struct chat_args chat;
	int json, all, no_stdin, raw, special, bos, source;
	/* of grammar */
	int as, annotate, lax; /* as: 0 for auto */
	int64_t samples, budget;
	struct opt_list checks;
	struct opt_bits seed;
	const char *sort, *filter; /* of tensors */
	int stats;
	const char *machine; /* hw, plan */
	int again;
	struct plan_args plan;
	struct infer_machine *on; /* no option: plan's machine, found before the sandbox closes */
	struct os_limits limits;  /* no option: asked before the sandbox closes */
};

/* One row of the table of subjects in main.c.  run: the answer into `out` (text, or JSON lines with
 * o->json), which the caller writes; words: what follows the subject. */
struct subject {
	const char *name;
	int takes_words, takes_talk, needs_file; /* a file: with -m, or where words are files */
	int is_cache;                            /* of the models of the hub, by name */
	/* of a text, in place of run; words: what follows the subject.  *differs: 1 if what was compared
	 * with it does not fit */
	int (*text)(struct buf *out, const struct inspect_opts *o, const struct opt_rest *words,
	            int *differs, infer_error *err);
	int (*run)(struct buf *out, const struct inspect_opts *o, const infer_file *file,
	           const struct opt_rest *words, infer_error *err);
	/* of two files, in place of run; *differs: 1 if they do */
	int (*pair)(struct buf *out, const struct inspect_opts *o, const infer_file *a,
	            const infer_file *b, int *differs, infer_error *err);
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
int diff(struct buf *out, const struct inspect_opts *o, const infer_file *a, const infer_file *b,
         int *differs, infer_error *err);
int grammar(struct buf *out, const struct inspect_opts *o, const struct opt_rest *words,
            int *differs, infer_error *err);
int plan(struct buf *out, const struct inspect_opts *o, const infer_file *file,
         const struct opt_rest *words, infer_error *err);
int pull(struct buf *out, const struct inspect_opts *o, const struct opt_rest *words, int *differs,
         infer_error *err);
int list(struct buf *out, const struct inspect_opts *o, const struct opt_rest *words, int *differs,
         infer_error *err);
int rm(struct buf *out, const struct inspect_opts *o, const struct opt_rest *words, int *differs,
       infer_error *err);
int hw(struct buf *out, const struct inspect_opts *o, const infer_file *file,
       const struct opt_rest *words, infer_error *err);

/* The machine that --hw names, or this one as it was measured, now if there is no measurement yet or
 * `again` asks for another; loops: with the rates of all loops. */
int machine_get(struct infer_machine *m, const char *name, int again, int loops, infer_error *err);

/* What values of a tensor are multiplied by, at element i: 1, or its auxiliary tensor's (diff.c). */
double scale_of(const struct infer_tensor *t, uint64_t i);

/* s as people read it: control characters and ill-formed parts escaped, at most `max` bytes of
 * it. */
void put_plain(struct buf *out, struct infer_str s, size_t max);
/* Bytes with a unit behind: "1185504 (1.1 MiB)". */
void put_bytes(struct buf *out, uint64_t bytes);
/* The like of "1.1 MiB". */
void put_size(struct buf *out, uint64_t bytes);

/* about.c: dimensions, types, vocabulary, template and licence, a line each; model: NULL if it does not
 * open. */
void put_about(struct buf *out, const infer_file *f, const infer_model *model);
void put_about_json(struct jwrite *w, const infer_file *f, const infer_model *model);

/* How a file was quantised and what it lost, if it says so: a line each. */
void put_lost(struct buf *out, const infer_file *f);

/* The type of a value, as "u32" or "string[5]". */
void put_meta_type(struct buf *out, const struct infer_meta *m);
/* Element i of m, of which a string is the one behind *cursor: its first `max` bytes as text, or
 * with w all of it as JSON. */
int put_meta_element(struct buf *out, struct jwrite *w, const infer_file *f,
                     const struct infer_meta *m, uint64_t i, size_t *cursor, size_t max,
                     infer_error *err);
/* The fields type, elem_type and value; the value of an array is an array. */
int put_meta_fields(struct jwrite *w, const infer_file *f, const struct infer_meta *m,
                    infer_error *err);

/* Whether a model runs here, and what it takes. */
enum { CONTEXTS = 3 }; /* 4k, 32k and the longest context, without duplicates */
struct verdict {
	infer_error why;    /* code 0: it runs */
	infer_model *model; /* NULL where it cannot be opened; the caller's to close */
	int n;
	struct infer_engine_need need[CONTEXTS];
};
/* INFER_ENOMEM: not judged, for lack of memory; *v needs no closing then */
int judge(struct verdict *v, const infer_file *file, uint64_t available_bytes, infer_error *err);
void put_verdict(struct buf *out, const struct verdict *v);
void put_verdict_json(struct jwrite *w, const struct verdict *v);
#endif
