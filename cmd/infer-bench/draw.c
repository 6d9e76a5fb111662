/* infer-bench/draw.c - draw a figure with gnuplot, or as text. */
#include "child.h"
#include "figure.h"
#include "common/file.h"
#include <infer/statistic.h>
#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WIDE = 66, HIGH = 20, MARGIN = 10 };

/* ---- axes ---- */

struct range {
	double lo, hi;
	int log;
};

static void ranges(const struct figure *f, struct range *x, struct range *y)
{
	*x = (struct range){ INFINITY, 0, f->log_x };
	*y = (struct range){ INFINITY, 0, f->log_y };
	for (int i = 0; i < f->n; i++)
		for (size_t k = 0; k < f->series[i].n; k++) {
			const struct point *p = &f->series[i].at[k];

			x->lo = p->x < x->lo ? p->x : x->lo;
			x->hi = p->x > x->hi ? p->x : x->hi;
			y->lo = p->y < y->lo ? p->y : y->lo;
			y->hi = p->y > y->hi ? p->y : y->hi;
		}
	if (!y->log)
		y->lo = 0;
}

/* ---- gnuplot ---- */

/* Append a text in single quotes for gnuplot. */
static void put_quoted(struct buf *to, const char *text)
{
	buf_putc(to, '\'');
	for (; *text; text++)
		buf_putc(to, *text == '\'' || *text == '\n' ? ' ' : *text);
	buf_putc(to, '\'');
}

static void put_data(const struct figure *f, struct buf *to)
{
	for (int i = 0; i < f->n; i++) {
		const struct series *s = &f->series[i];

		buf_printf(to, "$d%d << E\n", i);
		for (size_t k = 0; k < s->n; k++)
			buf_printf(to, "%.9g %.9g %.9g %.9g\n", s->at[k].x, s->at[k].y, s->at[k].lo,
			           s->at[k].hi);
		buf_puts(to, "E\n");
	}
}

static void put_axes(const struct figure *f, struct buf *to)
{
	struct range x, y;
	double room;

	buf_puts(to, "set title ");
	put_quoted(to, f->title);
	buf_puts(to, "\nset xlabel ");
	put_quoted(to, f->x);
	buf_puts(to, " offset 0,0.4\nset ylabel ");
	put_quoted(to, f->y);
	buf_printf(to,
	           "\nset grid lc rgb '#dddddd'\nset key bmargin center horizontal maxcols 2\nset "
	           "offsets "
	           "graph 0.03, graph 0.03, 0, 0\n%s%s",
	           f->log_x ? "set logscale x\n" : "",
	           f->log_y ? "set logscale y\n" : "set yrange [0:*]\n");
	/* leave room between the points and the frame */
	ranges(f, &x, &y);
	room = x.hi > x.lo ? 0.03 * (x.hi - x.lo) : 1;
	if (!f->log_x)
		buf_printf(to, "set xrange [%.9g:%.9g]\n", x.lo - room, x.hi + room);
	if (f->log_y)
		buf_printf(to, "set yrange [%.9g:%.9g]\n", y.lo / 1.3, y.hi * 1.3);
	if (f->n_ticks) {
		buf_puts(to, "set xtics (");
		for (int i = 0; i < f->n_ticks; i++)
			buf_printf(to, "%s'%s' %.6g", i ? ", " : "", f->ticks[i].label,
			           f->ticks[i].at);
		buf_puts(to, ")\n");
	}
}

static int has_spread(const struct series *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->at[i].lo > 0 && s->at[i].hi > s->at[i].lo)
			return 1;
	return 0;
}

void figure_script(const struct figure *f, int form, struct buf *to)
{
	static const char *const colours[] = { "#1f5fbf", "#c04010", "#108040",
		                               "#8030a0", "#a08000", "#404040" };
	int colour = 0, limits = 0;

	buf_printf(to, "set terminal %s noenhanced\nset encoding utf8\n",
	           form == FIGURE_PNG ? "pngcairo size 1200,800 font 'sans,16' linewidth 2"
	                              : "svg size 900,600 font 'sans-serif,16' linewidth 2 "
	                                "background '#ffffff'");
	put_axes(f, to);
	put_data(f, to);
	for (int i = 0; i < f->n; i++) {
		const struct series *s = &f->series[i];
		const char *c = colours[s->style == STYLE_LIMIT ? limits++ % 6 : colour++ % 6];

		buf_puts(to, i ? ", \\\n     " : "plot ");
		if (has_spread(s))
			buf_printf(to,
			           "$d%d using 1:2:3:4 with yerrorbars lc rgb '%s' ps 0 notitle, "
			           "\\\n     ",
			           i, c);
		buf_printf(to, "$d%d using 1:2 with ", i);
		if (s->style == STYLE_LIMIT)
			buf_printf(to, "lines dt (6,5) lw 1.5 lc rgb '%s' title ", c);
		else if (s->style == STYLE_POINTS || s->n > 30)
			buf_printf(to, "%s lc rgb '%s' title ",
			           s->style == STYLE_POINTS ? "points pt 7 ps 0.7"
			           : colour > 6             ? "lines dt 3"
			                                    : "lines",
			           c);
		else
			buf_printf(to, "linespoints pt 7 ps 0.8 lc rgb '%s' title ", c);
		put_quoted(to, s->name);
	}
	buf_putc(to, '\n');
}

int figure_gnuplot(const struct figure *f, int form, struct buf *out, infer_error *err)
{
	static char name[] = "gnuplot", in[] = "-";
	char *argv[] = { name, in, NULL };
	struct child c;
	struct buf script;
	int fd = memfd_create("script", MFD_CLOEXEC), rc = INFER_OK;

	buf_init(&script, MEM_BASE);
	figure_script(f, form, &script);
	if (script.bad || fd < 0 || file_put(fd, script.at, script.len) || lseek(fd, 0, SEEK_SET))
		rc = err_nomem(err);
	if (!rc)
		rc = child_run(&c, argv, fd, out, err);
	if (!rc && !out->len)
		rc = err_set(err, INFER_EIO, "gnuplot drew nothing");
	buf_fini(&script);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- text ---- */

/* Return the position of v in the range, 0 to 1. */
static double to_part(const struct range *r, double v)
{
	double lo = r->log ? infer_log(r->lo) : r->lo, hi = r->log ? infer_log(r->hi) : r->hi;

	v = r->log ? infer_log(v) : v;
	return hi > lo ? (v - lo) / (hi - lo) : 0.5;
}

/* Return the value at a position of the range. */
static double from_part(const struct range *r, double part)
{
	if (!r->log)
		return r->lo + part * (r->hi - r->lo);
	return infer_exp(infer_log(r->lo) + part * (infer_log(r->hi) - infer_log(r->lo)));
}

static void put_mark(char canvas[HIGH][WIDE], const struct range *x, const struct range *y,
                     double px, double py, char c)
{
	int col = (int)(to_part(x, px) * (WIDE - 1) + 0.5),
	    row = (int)(to_part(y, py) * (HIGH - 1) + 0.5);

	if (col >= 0 && col < WIDE && row >= 0 && row < HIGH &&
	    (canvas[HIGH - 1 - row][col] == ' ' || c != '-'))
		canvas[HIGH - 1 - row][col] = c;
}

/* Draw a series: lines have its letter in each column between the points; limits are dashes. */
static void draw_series(char canvas[HIGH][WIDE], const struct series *s, const struct range *x,
                        const struct range *y, char c)
{
	for (size_t k = 0; k < s->n; k++) {
		const struct point *p = &s->at[k], *q = k + 1 < s->n ? p + 1 : p;
		int from = (int)(to_part(x, p->x) * (WIDE - 1)),
		    to = (int)(to_part(x, q->x) * (WIDE - 1));

		put_mark(canvas, x, y, p->x, p->y, c);
		for (int col = from; s->style == STYLE_LIMIT && col <= to; col++) {
			double at = (double)col / (WIDE - 1), a = to_part(x, p->x),
			       b = to_part(x, q->x), part = b > a ? (at - a) / (b - a) : 0,
			       v = to_part(y, p->y) + part * (to_part(y, q->y) - to_part(y, p->y));

			if (part >= 0 && part <= 1)
				put_mark(canvas, x, y, from_part(x, at), from_part(y, v), c);
		}
	}
}

static char letter(const struct figure *f, int i)
{
	int n = 0;

	if (f->series[i].style == STYLE_LIMIT)
		return '-';
	for (int k = 0; k < i; k++)
		n += f->series[k].style != STYLE_LIMIT;
	return "*o+x#@%&=~^$"[n % 12];
}

static void ticks(const struct figure *f, const struct range *x, struct buf *to)
{
	char line[WIDE + 16];
	int next = 0;

	memset(line, ' ', sizeof line);
	for (int i = 0; i < (f->n_ticks ? f->n_ticks : 5); i++) {
		double part = f->n_ticks ? to_part(x, f->ticks[i].at) : i / 4.0;
		char label[16];
		int col = (int)(part * (WIDE - 1)), n;

		snprintf(label, sizeof label, "%.4g", from_part(x, part));
		n = (int)strlen(f->n_ticks ? f->ticks[i].label : label);
		if (part < 0 || part > 1 || col < next)
			continue;
		memcpy(line + col, f->n_ticks ? f->ticks[i].label : label, (size_t)n);
		next = col + n + 1;
	}
	buf_printf(to, "%*s%.*s\n", MARGIN + 2, "", next ? next - 1 : 0, line);
}

void figure_text(const struct figure *f, struct buf *to)
{
	char canvas[HIGH][WIDE];
	struct range x, y;

	ranges(f, &x, &y);
	memset(canvas, ' ', sizeof canvas);
	for (int pass = 0; pass < 2; pass++) /* limits first: other series overwrite them */
		for (int i = 0; i < f->n; i++)
			if ((f->series[i].style == STYLE_LIMIT) == !pass)
				draw_series(canvas, &f->series[i], &x, &y, letter(f, i));
	buf_printf(to, "%s\n%s\n", f->title, f->y);
	for (int row = 0; row < HIGH; row++) {
		if (row % 4 == 0 || row == HIGH - 1)
			buf_printf(to, "%*.4g |", MARGIN,
			           from_part(&y, (double)(HIGH - 1 - row) / (HIGH - 1)));
		else
			buf_printf(to, "%*s |", MARGIN, "");
		int n = WIDE;

		while (n && canvas[row][n - 1] == ' ')
			n--;
		buf_printf(to, "%.*s\n", n, canvas[row]);
	}
	buf_printf(to, "%*s +", MARGIN, "");
	for (int i = 0; i < WIDE; i++)
		buf_putc(to, '-');
	buf_putc(to, '\n');
	ticks(f, &x, to);
	buf_printf(to, "%*s%s\n", MARGIN + 2, "", f->x);
	for (int i = 0; i < f->n; i++)
		if (f->series[i].n)
			buf_printf(to, "%*s%c %s\n", MARGIN + 2, "", letter(f, i),
			           f->series[i].name);
}
