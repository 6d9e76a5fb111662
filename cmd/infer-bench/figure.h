/* infer-bench/figure.h - a figure of measurements, drawn with gnuplot or as text. */
#ifndef INFER_BENCH_FIGURE_H
#define INFER_BENCH_FIGURE_H
#include "cases.h"

enum { FIGURE_SERIES = 12, FIGURE_TICKS = 8 };
enum series_style { STYLE_LINE, STYLE_POINTS, STYLE_LIMIT };
struct point {
	double x, y, lo, hi; /* lo, hi: spread of y; both equal y if there is none */
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
	char title[120], x[60], y[60]; /* x, y: labels of the axes, with units */
	int log_x, log_y;
	struct tick ticks[FIGURE_TICKS]; /* labels on the x axis; n_ticks 0: even steps */
	int n_ticks;
	struct series series[FIGURE_SERIES];
	int n;
	struct arena *mem;
};

enum figure_kind { FIGURE_AUTO, FIGURE_SWEEP, FIGURE_LATENCY, FIGURE_THROUGHPUT, FIGURE_ROOFLINE };
#define FIGURE_KINDS "auto|sweep|latency|throughput|roofline"
/* Make a figure from records. FIGURE_AUTO: the first kind for which there are points.
 * INFER_EFORMAT  no record has points of that kind; INFER_ENOMEM */
int figure_make(struct figure *f, const struct cases *c, enum figure_kind kind, struct arena *mem,
                infer_error *err);

enum { FIGURE_SVG, FIGURE_PNG };
/* Draw with gnuplot: append the SVG or PNG file to out.
 * INFER_EIO  gnuplot is not installed, or failed; INFER_ENOMEM */
int figure_gnuplot(const struct figure *f, int form, struct buf *out, infer_error *err);
/* Append the gnuplot script that draws the figure. */
void figure_script(const struct figure *f, int form, struct buf *to);
/* Append the figure as text, at most 80 columns wide. */
void figure_text(const struct figure *f, struct buf *to);
#endif
