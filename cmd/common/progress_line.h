/* common/progress_line.h - the rate of work, and the text of the progress line. Pure functions. */
#ifndef COMMON_PROGRESS_LINE_H
#define COMMON_PROGRESS_LINE_H
#include <stddef.h>
#include <stdint.h>

/* Samples of a growing count. The rate is measured over the last METER_NS, or longer if the count grew
 * rarely; so a slow start, such as a first read of a file, does not matter later. whole 1: the rate is
 * measured over the whole time, for counts that grow in bursts. */
enum { METER_SAMPLES = 64 };
#define METER_NS INT64_C(10000000000)
struct meter_sample {
	int64_t at_ns;
	uint64_t count;
};
struct meter {
	struct meter_sample first, samples[METER_SAMPLES];
	int n, last; /* number of samples in the ring; index of the newest */
	int whole;
};
/* Add a sample. */
void meter_put(struct meter *m, int64_t now_ns, uint64_t count);
/* Add ns to the times of all samples, after the process was stopped for that long. */
void meter_shift(struct meter *m, int64_t ns);
double meter_rate(const struct meter *m); /* Return the rate per second; 0: not known yet. */
/* Return the seconds from now until the count is `all`; negative: not known. */
double meter_left(const struct meter *m, int64_t now_ns, uint64_t all);

enum progress_unit { PROGRESS_ITEMS, PROGRESS_TOKENS, PROGRESS_BYTES };
struct progress_view {
	const char *what;
	enum progress_unit unit;  /* unit of `done` and `all` */
	uint64_t done, all;       /* all 0: not known */
	uint64_t failed;          /* failed requests; 0: not shown */
	enum progress_unit rates; /* unit of `rate` */
	double rate, left_s;      /* rate 0, left_s below 0: not known */
};
/* Write "prompt 512/5851 (9 %) 61 tok/s, 1:27 left" in at most `width` columns. If it is too long, the
 * rate is left out, then the percentage, then the line is cut. Returns its length. */
size_t progress_line(char *out, size_t room, const struct progress_view *v, size_t width);
/* Write a duration: "0.03 s", "1:27", "1:02:33". */
void progress_time(char *out, size_t room, double s);
#endif
