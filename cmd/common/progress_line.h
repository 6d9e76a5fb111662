/* common/progress_line.h - how fast work goes, and the line that says so.  No clock, no terminal. */
#ifndef COMMON_PROGRESS_LINE_H
#define COMMON_PROGRESS_LINE_H
#include <stddef.h>
#include <stdint.h>

/* A count that grows, and when.  The rate is that of the last METER_NS, or of longer where the
 * count grew but rarely: what was slow in the beginning, as a file that is read for the first time,
 * is forgotten.  whole: it is that of the whole time, for what comes in bursts. */
enum { METER_SAMPLES = 64 };
#define METER_NS INT64_C(10000000000)
struct meter_sample {
	int64_t at_ns;
	uint64_t count;
};
struct meter {
	struct meter_sample first, samples[METER_SAMPLES];
	int n, last; /* last: where the newest is */
	int whole;
};
void meter_put(struct meter *m, int64_t now_ns, uint64_t count);
/* The clock ran on while nothing could be done. */
void meter_shift(struct meter *m, int64_t ns);
double meter_rate(const struct meter *m); /* a second; 0: not known yet */
/* Seconds from now to a count of `all`; below 0: not known. */
double meter_left(const struct meter *m, int64_t now_ns, uint64_t all);

enum progress_unit { PROGRESS_ITEMS, PROGRESS_TOKENS, PROGRESS_BYTES };
struct progress_view {
	const char *what;
	enum progress_unit unit;  /* of done and all */
	uint64_t done, all;       /* all 0: not known */
	uint64_t failed;          /* 0: not shown */
	enum progress_unit rates; /* unit of rate */
	double rate, left_s;      /* rate 0, left_s below 0: not known */
};
/* "prompt 512/5851 (9 %) 61 tok/s, 1:27 left", in at most `width` columns: without the rate where it
 * is too long, then without the share, then cut.  Returns its length. */
size_t progress_line(char *out, size_t room, const struct progress_view *v, size_t width);
/* A time that has passed: "0.03 s", "1:27", "1:02:33". */
void progress_time(char *out, size_t room, double s);
#endif
