/* backend/cuda/state_page.cuh (private) - the pages with the states of recurrent layers.
 *
 *   pages of a run   | source |         | page  |         | page  |
 *                        '-- state --> rows --^-- rows ------^
 *
 * A run reads the state from the page of the position before its first.  If it begins inside a
 * page, that is also the first page that it writes.  It writes the state after its last row in each
 * page, unless the page was released. */
#ifndef BACKEND_CUDA_STATE_PAGE_CUH
#define BACKEND_CUDA_STATE_PAGE_CUH
#include "backend/cuda/gpu.h"
#include "backend/cuda/launch.h"

enum { STATE_NO_PAGE = -1 }; /* BACKEND_NO_PAGE */

/* The states of one layer along a run. */
struct state_run {
	int row, n, pos;     /* rows of the step, position of the first */
	unsigned char *base; /* of the layer in page 0 */
	size_t page_bytes;
	const uint32_t *pages; /* of the run */
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

/* Return float `at` of the layer's state in page `page` of the run; NULL: it was released. */
GPU_FN float *state_in(const struct state_run *s, int page, size_t at)
{
	uint32_t p = s->pages[page];

	return p == (uint32_t)STATE_NO_PAGE ? NULL
	                                    : (float *)(void *)(s->base + p * s->page_bytes) + at;
}

/* Return the state that the run reads; NULL: it begins at position 0. */
GPU_FN const float *state_before(const struct state_run *s, size_t at)
{
	return s->pos ? state_in(s, (s->pos - 1) / GPU_PAGE, at) : NULL;
}

/* Return the largest number of pages of a run of n rows. */
static inline int state_pages(int n) { return (n + GPU_PAGE - 2) / GPU_PAGE + 1; }
#endif
