/* backend/cuda/state_page.cuh (private) - the pages with the states of recurrent layers.
 *
 *   pages of a run   | source |         | page  |         | page  |
 *                        '-- state --> rows --^-- rows ------^
 *
 * A run reads the state from the page of the position before the run; if it begins inside a page,
 * it also writes that page first.  To each of its pages, except released ones, it writes the state
 * after its last row in that page. */
#ifndef BACKEND_CUDA_STATE_PAGE_CUH
#define BACKEND_CUDA_STATE_PAGE_CUH
#include "backend/cuda/gpu.h"
#include "backend/cuda/launch.h"

enum { STATE_NO_PAGE = -1 }; /* BACKEND_NO_PAGE */

/* The states of one layer in the pages of a run. */
struct state_run {
	int row, n, pos;     /* rows [row, row + n) of the step; position of row `row` */
	unsigned char *base; /* address of the layer in page 0 */
	size_t page_bytes;
	const uint32_t *pages; /* page numbers of the run */
};
GPU_FN struct state_run state_open(const struct gpu_rows *rows, int layer, int run)
{
	const gpu_run *r = &rows->runs[run];
	const gpu_layer *l = &rows->layers[layer];
	struct state_run s;

	s.row = r->row;
	s.n = r->n;
	s.pos = r->pos;
	s.base = l->base;
	s.page_bytes = (size_t)l->page_bytes;
	s.pages = rows->tables + r->tables[l->group];
	return s;
}

/* Return the address of float `at` of the state in page `page` of the run; NULL: released. */
GPU_FN float *state_in(const struct state_run *s, int page, size_t at)
{
	uint32_t p = s->pages[page];

	return p == (uint32_t)STATE_NO_PAGE ? NULL
	                                    : (float *)(void *)(s->base + p * s->page_bytes) + at;
}

/* Return the address of float `at` of the state before the run; NULL: pos is 0. */
GPU_FN const float *state_before(const struct state_run *s, size_t at)
{
	return s->pos ? state_in(s, (s->pos - 1) / GPU_PAGE, at) : NULL;
}

/* Return the most pages that a run of n rows can touch. */
static inline int state_pages(int n) { return (n + GPU_PAGE - 2) / GPU_PAGE + 1; }
#endif
