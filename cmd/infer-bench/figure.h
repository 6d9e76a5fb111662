/* infer-bench/figure.h - a picture of measurements: by gnuplot, or in the letters of a terminal. */
#ifndef INFER_BENCH_FIGURE_H
#define INFER_BENCH_FIGURE_H
#include "cases.h"

enum { FIGURE_SERIES = 12, FIGURE_TICKS = 8 };
enum series_style { STYLE_LINE, STYLE_POINTS, STYLE_LIMIT };
struct point {
	double x, y, lo, hi; /* lo, hi: the spread of y; equal to y: none */
};
struct series {
	char name[64];
	enum series_style style;
	struct point *at;
	size_t n, cap;
};
struct tick {
	double at;
	char label[16];
};
struct figure {
	char title[120], x[60], y[60]; /* what the axes are, with units */
	int log_x, log_y;
	struct tick ticks[FIGURE_TICKS]; /* of x; none: even ones */
	int n_ticks;
	struct series series[FIGURE_SERIES];
	int n;
	struct arena *mem;
};

enum figure_kind { FIGURE_AUTO, FIGURE_SWEEP, FIGURE_LATENCY, FIGURE_THROUGHPUT, FIGURE_ROOFLINE };
#define FIGURE_KINDS "auto|sweep|latency|throughput|roofline"
/* Fill f from records.  AUTO: the first kind that they have points for.
 * INFER_EFORMAT  none of them is of that kind; INFER_ENOMEM */
int figure_make(struct figure *f, const struct cases *c, enum figure_kind kind, struct arena *mem,
                infer_error *err);

enum { FIGURE_SVG, FIGURE_PNG };
/* By gnuplot.  INFER_EIO  it is not there, or it failed */
int figure_gnuplot(const struct figure *f, int form, struct buf *out, infer_error *err);
/* As gnuplot is asked to draw it. */
void figure_script(const struct figure *f, int form, struct buf *to);
/* At most 80 columns. */
void figure_letters(const struct figure *f, struct buf *to);
#endif
