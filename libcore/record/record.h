/* record/record.h - inside the records: one line at a time in the writer's buffer */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H
#include <infer/record.h>
#include "base/buf.h"
#include "base/jwrite.h"

struct infer_writer {
	int fd;
	int started;                 /* a line was written: no "v" any more */
	struct buf line;
	struct jwrite w;
	const infer_model *model;    /* whose id is kept: it takes a hash of the header */
	char id[65];
};

/* run.c: the object `run` (contract, promise 7) */
void record_run(infer_writer *w, const struct infer_run_info *run);
#endif
