/* infer-inspect/inspect.h - options, subjects and output shared by the files of infer-inspect. */
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

/* Options of plan; 0: not given. */
struct plan_args {
	int64_t ctx, users, prompt, output, shared, chunk, threads;
	double ttft_ms, tpot_ms, price;
	uint64_t budget;
	const char *kv_type, *device;
	struct opt_list loras; /* adapters */
	const char *config;    /* not an option: the config.json to plan from; NULL: none */
	int table;
};

struct inspect_opts {
	struct start start;
	const char *model;
	struct opt_list files; /* subjects tokens and template: files of text */
	struct chat_args chat;
	int json, all, no_stdin, raw, special, bos, source;
	/* subject grammar */
	int as, annotate, strict_formats, lax; /* as: 0 for auto */
	int64_t samples, budget;
	struct opt_list checks;
	struct opt_bits seed;
	const char *sort, *filter; /* subject tensors */
	int stats;
	const char *machine; /* subjects hw and plan */
	int again;
	struct plan_args plan;
	/* set before the sandbox is entered */
	struct infer_machine *on; /* not an option: the machine to plan for */
	struct os_limits limits;  /* not an option */
};

/* One row of the table of subjects in main.c.  One of run, text and pair is set; it appends the
 * answer to `out` (text, or JSON lines with o->json), which the caller prints. */
struct subject {
	const char *name;
	int takes_words; /* 1: its arguments are a text; -m names the model */
	int takes_talk;  /* 1: it takes the options of a conversation */
	int needs_file;  /* 1: it needs a model file: -m, or its arguments */
	int is_cache;    /* 1: its arguments name models of the hub */
	/* Subject without a model.  words: the arguments after the subject.  Sets *differs if a
	 * text does not satisfy the constraint. */
	int (*text)(struct buf *out, const struct inspect_opts *o, const struct opt_rest *words,
	            int *differs, infer_error *err);
	int (*run)(struct buf *out, const struct inspect_opts *o, const infer_file *file,
	           const struct opt_rest *words, infer_error *err);
	/* Subject of two files.  Sets *differs to 1 if they differ. */
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
int lora(struct buf *out, const struct inspect_opts *o, const infer_file *file,
         const struct opt_rest *words, infer_error *err);
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

/* Find the machine that --hw names, or this one (name NULL): its cached measurement, or a new one if there is
 * none or `again` is set.  loops: 1 to measure the rates of all kernels.  Error: as infer_machine_find,
 * infer_machine_read or infer_machine_measure. */
int machine_get(struct infer_machine *m, const char *name, int again, int loops, infer_error *err);

/* Return the factor of element i: the scale of its matrix in the auxiliary tensor, or 1 if there is none
 * (diff.c). */
double scale_of(const struct infer_tensor *t, uint64_t i);

/* Append s with control characters and ill-formed UTF-8 escaped, at most its first `max` bytes. */
void put_plain(struct buf *out, struct infer_str s, size_t max);
/* Append a size in bytes and in a larger unit: "1185504 (1.1 MiB)". */
void put_bytes(struct buf *out, uint64_t bytes);
/* Append a size such as "1.1 MiB". */
void put_size(struct buf *out, uint64_t bytes);

/* Append dimensions, types, vocabulary, template and licence, a line each.  model: NULL if it
 * cannot be opened. */
void put_about(struct buf *out, const infer_file *f, const infer_model *model);
void put_about_json(struct jwrite *w, const infer_file *f, const infer_model *model);

/* Append how the file was quantised and its quality loss, a line each, if its metadata has them. */
void put_quality(struct buf *out, const infer_file *f);

/* Append the type of a value, such as "u32" or "string[5]". */
void put_meta_type(struct buf *out, const struct infer_meta *m);
/* Append element i of m: at most `max` bytes as text to `out`, or all of it as JSON to w if w is not NULL.
 * Call it in order of i with the same *cursor, which starts at 0. */
int put_meta_element(struct buf *out, struct jwrite *w, const infer_file *f,
                     const struct infer_meta *m, uint64_t i, size_t *cursor, size_t max,
                     infer_error *err);
/* Write the fields type, elem_type (arrays only) and value. */
int put_meta_fields(struct jwrite *w, const infer_file *f, const struct infer_meta *m,
                    infer_error *err);

/* The judgement of a model: does it run on this machine, and how much memory does it need? */
enum { CONTEXTS = 3 }; /* 4k, 32k and the longest context, without duplicates */
struct verdict {
	infer_error why;    /* why it does not run; code 0: it runs */
	infer_model *model; /* the caller closes it; NULL: it cannot be opened */
	int n;
	struct infer_engine_need need[CONTEXTS];
};
/* Fill *v.  INFER_ENOMEM: this process ran out of memory; then v->model is NULL. */
int judge(struct verdict *v, const infer_file *file, uint64_t available_bytes, infer_error *err);
void put_verdict(struct buf *out, const struct verdict *v);
void put_verdict_json(struct jwrite *w, const struct verdict *v);
#endif
