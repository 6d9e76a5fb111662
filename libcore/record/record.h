/* record/record.h (private) - the state of a stream of records, and the objects in them */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H
#include <infer/record.h>
#include "api/api.h"

struct infer_records {
	struct buf text;
	struct jwrite w;
	int started;     /* a record was written: only the first has "v" */
	int has_kind;    /* the open line is a record, not a line in OpenAI's batch format */
	size_t line_at;  /* offset of the open line in text */
	int selects;     /* keep only the selected `fields` of each record */
	uint64_t fields; /* a bit per field, in the order of record/field_list.h */
};

/* jsonl.c: begin a line in OpenAI's batch format, which has neither `v` nor `kind`; it ends with
 * infer_records_end. */
struct jwrite *record_begin_bare(infer_records *r);

/* fields.c: remove the fields that were not selected from the record that has just ended. */
void record_cut(infer_records *r);

/* run.c: write the object `run`: how the record was computed */
void record_run(infer_records *w, const struct infer_run_info *run);
/* run.c: write an object that identifies a model */
void record_model(infer_records *w, const char *key, const infer_model *m);

/* resume.c: return an id as text, also if it is an integer; NULL: v is not an id, or a->bad is
 * set */
const char *record_id(struct arena *a, const struct json *v);
#endif
