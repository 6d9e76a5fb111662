/* tests/unit/arch/dump.h - an open model as text: its bindings, then its graph. */
#ifndef TESTS_DUMP_H
#define TESTS_DUMP_H
#include <infer/type.h>
#include "arch/arch.h"
#include "base/buf.h"
#include "../graph_dump.h"

__attribute__((unused)) static void dump_model(const infer_model *m, struct buf *out)
{
	for (int i = 0; i < m->n_weights; i++) {
		const struct weight *w = &m->weights[i];
		buf_printf(out, "w%d: %.*s %s %lld x %lld", i, (int)m->tensors[i]->name.len,
		           m->tensors[i]->name.at, infer_type_info(w->type)->name,
		           (long long)w->ne[0], (long long)w->ne[1]);
		buf_printf(out, w->n > 1 ? " x %d\n" : "\n", w->n);
	}
	graph_dump(&m->graph, out);
}
#endif
