/* record/record.h (private) - inside the records: lines in the writer's buffer */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H
#include <infer/record.h>
#include "api/api.h"

/* jsonl.c: a line and its parts; bare: a line in OpenAI's form, without `v` and `kind` */
struct jwrite *record_begin(infer_writer *w, enum infer_kind kind);
struct jwrite *record_begin_bare(infer_writer *w);
int record_end(infer_writer *w, infer_error *err);

/* fields.c: take out of the line that has ended what is not to stay */
void record_cut(infer_writer *w);

/* run.c: the object `run` (contract, promise 7) */
void record_run(infer_writer *w, const struct infer_run_info *run);
/* the object that names a model */
void record_model(infer_writer *w, const char *key, const infer_model *m);

/* bench.c: fields for the machine and its ceilings, in the current object */
void record_machine(struct jwrite *w, int32_t threads);
void record_ceilings(struct jwrite *w, const struct infer_ceilings *c);
/* resume.c: an id as text, also if it is an integer; NULL: v is no id, or no memory. */
const char *record_id(struct arena *a, const struct json *v);
#endif
