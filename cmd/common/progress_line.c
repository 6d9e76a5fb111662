/* common/progress_line.c - the rate of work, the time left, and the text of the progress line. */
#include "common/progress_line.h"

#include <stdio.h>
#include <string.h>

void meter_put(struct meter *m, int64_t now_ns, uint64_t count)
{
	if (m->n && m->samples[m->last].count == count)
		return;
	m->last = m->n ? (m->last + 1) % METER_SAMPLES : 0;
	m->samples[m->last] = (struct meter_sample){ now_ns, count };
	if (!m->n)
		m->first = m->samples[m->last];
	m->n += m->n < METER_SAMPLES;
}

void meter_shift(struct meter *m, int64_t ns)
{
	m->first.at_ns += ns;
	for (int i = 0; i < METER_SAMPLES; i++)
		m->samples[i].at_ns += ns;
}

/* Return the oldest sample that the rate is measured from. */
static const struct meter_sample *base_of(const struct meter *m)
{
	const struct meter_sample *last = &m->samples[m->last], *first = last;

	if (m->whole)
		return &m->first;
	for (int k = 1; k < m->n; k++) {
		const struct meter_sample *s =
			&m->samples[(m->last + METER_SAMPLES - k) % METER_SAMPLES];

		if (k > 1 && last->at_ns - s->at_ns > METER_NS)
			break;
		first = s;
	}
	return first;
}

double meter_rate(const struct meter *m)
{
	const struct meter_sample *last = &m->samples[m->last], *from = base_of(m);

	return last->at_ns > from->at_ns && last->count > from->count
	               ? (double)(last->count - from->count) * 1e9 /
	                         (double)(last->at_ns - from->at_ns)
	               : 0;
}

double meter_left(const struct meter *m, int64_t now_ns, uint64_t all)
{
	double rate = meter_rate(m), left;

	if (rate <= 0 || !m->n || all < m->samples[m->last].count)
		return -1;
	left = (double)(all - m->samples[m->last].count) / rate -
	       (double)(now_ns - m->samples[m->last].at_ns) * 1e-9;
	return left > 0 ? left : 0;
}

/* ---- the line */

static const struct {
	const char *name;
	double bytes;
} sizes[] = { { "TiB", 1099511627776.0 },
	      { "GiB", 1073741824.0 },
	      { "MiB", 1048576.0 },
	      { "KiB", 1024.0 },
	      { "B", 1 } };

static int pick_size(double bytes)
{
	int i = 0;

	while (sizes[i].bytes > 1 && bytes < sizes[i].bytes)
		i++;
	return i;
}

/* Write a number with at least two digits. */
static int put_digits(char *out, size_t room, double x)
{
	return snprintf(out, room, x < 9.95 ? "%.1f" : "%.0f", x);
}

static void put_count(char *out, size_t room, const struct progress_view *v)
{
	unsigned long long done = v->done, all = v->all;

	if (v->unit == PROGRESS_BYTES) {
		int i = pick_size((double)(all ? all : done));
		int n = put_digits(out, room, (double)done / sizes[i].bytes);

		if (all) {
			n += snprintf(out + n, room - (size_t)n, "/");
			n += put_digits(out + n, room - (size_t)n, (double)all / sizes[i].bytes);
		}
		snprintf(out + n, room - (size_t)n, " %s", sizes[i].name);
	} else if (all) {
		snprintf(out, room, "%llu/%llu", done, all);
	} else {
		snprintf(out, room, "%llu", done);
	}
}

static void put_rate(char *out, size_t room, const struct progress_view *v)
{
	int i = v->rates == PROGRESS_BYTES ? pick_size(v->rate) : 0, n;

	n = put_digits(out, room, v->rates == PROGRESS_BYTES ? v->rate / sizes[i].bytes : v->rate);
	snprintf(out + n, room - (size_t)n, " %s/s",
	         v->rates == PROGRESS_BYTES ? sizes[i].name : "tok");
}

static int put_time(char *out, size_t room, double s)
{
	unsigned long t = (unsigned long)(s + 0.5);

	return t < 3600 ? snprintf(out, room, "%lu:%02lu", t / 60, t % 60)
	                : snprintf(out, room, "%lu:%02lu:%02lu", t / 3600, t / 60 % 60, t % 60);
}

void progress_time(char *out, size_t room, double s)
{
	if (s < 59.95)
		snprintf(out, room, s < 9.995 ? "%.2f s" : "%.1f s", s);
	else
		put_time(out, room, s);
}

enum part { WITH_SHARE = 1, WITH_RATE = 2 };
static int compose(char *out, size_t room, const struct progress_view *v, int with)
{
	char count[64], share[16] = "", failed[32] = "", rate[48] = "", left[32] = "";
	int has_share = with & WITH_SHARE && v->all && v->unit != PROGRESS_ITEMS;

	put_count(count, sizeof count, v);
	if (has_share)
		snprintf(share, sizeof share, " (%u %%)",
		         v->done < v->all ? (unsigned)(100.0 * (double)v->done / (double)v->all)
		                          : 100);
	if (v->failed)
		snprintf(failed, sizeof failed, ", %llu failed", (unsigned long long)v->failed);
	if (with & WITH_RATE && v->rate > 0 && v->rates != PROGRESS_ITEMS)
		put_rate(rate, sizeof rate, v);
	if (v->left_s >= 0 && v->left_s < 3.6e6)
		put_time(left, sizeof left, v->left_s);
	return snprintf(out, room, "%s %s%s%s%s%s%s%s%s", v->what, count, share, failed,
	                !*rate                  ? ""
	                : has_share && !*failed ? " "
	                                        : ", ",
	                rate, *left ? ", " : "", left, *left ? " left" : "");
}

size_t progress_line(char *out, size_t room, const struct progress_view *v, size_t width)
{
	static const int ways[] = { WITH_SHARE | WITH_RATE, WITH_SHARE, 0 };
	size_t n = 0;

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		n = (size_t)compose(out, room, v, ways[i]);
		if (n <= width)
			break;
	}
	n = n < room ? n : room - 1;
	n = n < width ? n : width;
	out[n] = 0;
	return n;
}
