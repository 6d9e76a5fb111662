/* infer-bench/ab.c - ab: measure two commands or two servers in alternating rounds. */
#include "bench.h"
#include "child.h"
#include "compare.h"
#include "judge.h"
#include "serve.h"
#include "still.h"
#include "unclear.h"
#include "common/progress.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/rng.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { METRICS = 64, NAME = 96 };

/* The values of a metric on both sides, by round. */
struct both {
	char name[NAME];
	const char *unit;
	int higher;
	double *v[2];
	size_t n[2];
};
struct side {
	const char *name;
	char **argv; /* command; NULL: the side is a server */
	struct serve serve;
	int open;
};
struct ab {
	const struct bench_opts *o;
	struct side side[2];
	struct both metrics[METRICS];
	struct judged judged[METRICS];
	size_t n;
	int64_t rounds;     /* done */
	int64_t step, most; /* rounds at a time; most rounds */
	int64_t created_ms; /* when the last round had ended, since 1970 */
	struct arena mem;
};

/* ---- the results of a round ---- */

/* Add a value of a metric to one side. */
static int add_value(struct ab *a, int side, const char *name, const char *unit, int higher,
                     double v, infer_error *err)
{
	size_t i = 0, rounds = (size_t)a->most;

	while (i < a->n && strcmp(a->metrics[i].name, name) != 0)
		i++;
	struct both *b = &a->metrics[i];

	if (i == METRICS)
		return INFER_OK;
	if (i == a->n) {
		snprintf(b->name, sizeof b->name, "%s", name);
		b->unit = unit;
		b->higher = higher;
		b->v[0] = arena_alloc(&a->mem, 2 * rounds, sizeof(double));
		b->v[1] = b->v[0] ? b->v[0] + rounds : NULL;
		if (!b->v[0])
			return err_nomem(err);
		a->n++;
	}
	if (b->n[side] < rounds)
		b->v[side][b->n[side]++] = v;
	return INFER_OK;
}

/* Add the median of each metric of a record that a command printed. The name of a metric ends in tokens,
 * depth and batch if the record has them. */
static int add_record(struct ab *a, int side, const struct json *r, infer_error *err)
{
	const struct json *bench = json_get(r, "bench");

	if (!json_equals(json_get(r, "kind"), "bench") || json_equals(bench, "ceilings"))
		return INFER_OK;
	json_each(m, json_get(r, "metrics")) {
		const struct json *p50 = json_get(json_get(m, "p50"), "value");
		const char *unit = json_cstr(&a->mem, json_get(m, "unit"));
		char name[NAME];
		int n = snprintf(name, sizeof name, "%.*s", (int)m->key_n, m->key);

		if (json_get(r, "tokens") && n > 0)
			snprintf(name + n, sizeof name - (size_t)n, " %lld/%lld/%lld",
			         (long long)json_double(json_get(r, "tokens")),
			         (long long)json_double(json_get(r, "depth")),
			         (long long)json_double(json_get(r, "batch")));
		if (json_is_number(p50) && unit)
			TRY(add_value(a, side, name, unit,
			              json_equals(json_get(m, "better"), "higher"),
			              json_double(p50), err));
	}
	return INFER_OK;
}

/* Add all records that a command printed. */
static int add_output(struct ab *a, int side, const struct buf *out, infer_error *err)
{
	for (size_t at = 0, n; at < out->len; at += n + 1) {
		const char *from = out->at + at, *end = memchr(from, '\n', out->len - at);
		const struct json *v;

		n = end ? (size_t)(end - from) : out->len - at;
		char *own = n && *from == '{' ? arena_strndup(&a->mem, from, n) : NULL;

		if (own && !jread(&v, &a->mem, own, n, "output", NULL))
			TRY(add_record(a, side, v, err));
	}
	return INFER_OK;
}

/* Run the command of a side once. counted: 0 for a warm-up run. */
static int round_command(struct ab *a, int side, int counted, infer_error *err)
{
	struct child c;
	struct buf out;
	int rc;

	buf_init(&out, MEM_BASE);
	rc = child_run(&c, a->side[side].argv, -1, &out, err);
	if (!rc && counted)
		rc = add_output(a, side, &out, err);
	if (!rc && counted)
		rc = add_value(a, side, "wall_s", "s", 0, c.wall_s, err);
	if (!rc && counted)
		rc = add_value(a, side, "cpu_s", "s", 0, c.cpu_s, err);
	if (!rc && counted)
		rc = add_value(a, side, "peak_memory_bytes", "bytes", 0, c.peak_bytes, err);
	buf_fini(&out);
	return rc;
}

/* Measure the server of a side. Every round has the same lengths but other words, so no prompt is cached. */
static int round_server(struct ab *a, int side, int64_t round, infer_error *err)
{
	struct serve *s = &a->side[side].serve;
	struct infer_metric m;

	s->work.seed = rng_hash((uint64_t)a->o->seed, &round, sizeof round);
	TRY(serve_run(s, err));
	if (s->failed)
		return err_set(err, INFER_ENET, "%s: %lld requests failed", a->side[side].name,
		               (long long)s->failed);
	if (round < 0)
		return INFER_OK;
	for (int i = 0; serve_metric(s, i, &m); i++) {
		if (!m.n || !strcmp(m.name, "send_lag_ms") || !strcmp(m.name, "itl_ms"))
			continue;
		infer_sort(s->series[i], m.n);
		TRY(add_value(a, side, m.name, m.unit, m.higher, infer_quantile(m.values, m.n, 0.5),
		              err));
	}
	return add_value(a, side, "tok_s", "tok/s", 1, (double)s->completion_tokens / s->wall_s,
	                 err);
}

/* Set *yes if the interval of a change of a time or rate is wider than twice the tolerance. Only the width of an
 * interval may add rounds, not its position: repeated tests for a verdict would find one by chance. */
static int is_wide(int *yes, struct ab *a, infer_error *err)
{
	*yes = 0;
	for (size_t i = 0; i < a->n; i++) {
		const struct both *b = &a->metrics[i];
		struct judged j = { 0 };

		if ((strcmp(b->name, "wall_s") != 0 && !strstr(b->name, "tok_s")) ||
		    b->n[0] != b->n[1])
			continue;
		TRY(judge(&j, b->v[0], b->n[0], b->v[1], b->n[1], PAIR_ROUNDS, &a->mem, err));
		*yes |= j.bounded && j.hi - j.lo > 2 * a->o->tolerance / 100;
	}
	return INFER_OK;
}

static int one_round(struct ab *a, int64_t round, uint64_t *done, infer_error *err)
{
	/* The second side runs on a warmer machine, so the order is random; of two rounds, each order is that
	 * of one, so that a steady drift of the machine cancels out. */
	uint64_t two = (uint64_t)(round + 2) / 2;
	int first = (rng_unit((uint64_t)a->o->seed, two) < 0.5) ^ (round & 1);

	for (int i = 0; i < 2; i++) {
		int side = first ^ i;

		TRY(a->side[side].argv ? round_command(a, side, round >= 0, err)
		                       : round_server(a, side, round, err));
		progress_at(NULL, ++*done, 2 * (uint64_t)(a->most + 1));
	}
	return INFER_OK;
}

static int rounds(struct ab *a, infer_error *err)
{
	int64_t end = clock_now_ns() + (int64_t)(a->o->max_time * 1e9);
	uint64_t done = 0;
	int more = 1;

	TRY(one_round(a, -1, &done, err)); /* the first round is not counted */
	while (more && a->rounds < a->most) {
		int64_t to = a->rounds + a->step;

		for (; a->rounds < to && a->rounds < a->most; a->rounds++) {
			if (a->rounds >= a->step && clock_now_ns() > end)
				return INFER_OK;
			TRY(one_round(a, a->rounds, &done, err));
		}
		TRY(is_wide(&more, a, err));
	}
	return INFER_OK;
}

/* ---- the two sides ---- */

static int is_url(const char *s)
{
	return !strncmp(s, "http://", 7) || !strncmp(s, "https://", 8) || !strncmp(s, "unix:", 5);
}

/* Set the commands. If only two words are given, each is a command line for the shell. Otherwise the first
 * two are programs, and the other words are the arguments of both. */
static int set_commands(struct ab *a, const struct opt_rest *rest, infer_error *err)
{
	static char sh[] = "/bin/sh", c[] = "-c";
	size_t n = (size_t)rest->n_words - 3;

	for (int i = 0; i < 2; i++) {
		char **argv = arena_alloc(&a->mem, n + 4, sizeof(char *));

		if (!argv)
			return err_nomem(err);
		a->side[i].argv = argv;
		if (n) {
			*argv = rest->words[1 + i];
			memcpy(argv + 1, rest->words + 3, n * sizeof(char *));
		} else {
			argv[0] = sh;
			argv[1] = c;
			argv[2] = rest->words[1 + i];
		}
	}
	return INFER_OK;
}

static int set_sides(struct ab *a, const struct opt_rest *rest, infer_error *err)
{
	int urls = is_url(rest->words[1]) + is_url(rest->words[2]);

	for (int i = 0; i < 2; i++)
		a->side[i].name = rest->words[1 + i];
	if (!urls)
		return set_commands(a, rest, err);
	if (urls == 1 || rest->n_words > 3)
		return err_set(err, INFER_EINVAL,
		               "ab compares two servers or two commands, not one of each: '%.60s' "
		               "and '%.60s'",
		               rest->words[1], urls == 1 ? rest->words[2] : rest->words[3]);
	for (int i = 0; i < 2; i++) {
		a->side[i].open = 1;
		TRY(serve_open(&a->side[i].serve, a->o, a->side[i].name, err));
	}
	return INFER_OK;
}

/* ---- output ---- */

static int verdicts(struct ab *a, infer_error *err)
{
	struct judged *all[METRICS];
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		struct both *b = &a->metrics[i];
		enum pairing paired = b->n[0] == b->n[1] ? PAIR_ROUNDS : PAIR_NONE;

		a->judged[i].higher = b->higher;
		TRY(judge(&a->judged[i], b->v[0], b->n[0], b->v[1], b->n[1], paired, &a->mem, err));
		all[n++] = &a->judged[i];
	}
	judge_verdicts(all, n, a->o->tolerance / 100, &a->mem);
	return INFER_OK;
}

static int write_side(const struct ab *a, int side, infer_records *out, infer_error *err)
{
	struct jwrite *w = infer_records_begin(out, INFER_KIND_BENCH);
	double *room;

	jw_str(w, "bench", "ab");
	jw_str(w, "side", side ? "new" : "base");
	jw_str(w, "command", a->side[side].name);
	jw_int(w, "rounds", a->rounds);
	jw_int(w, "created_ms", a->created_ms);
	jw_object(w, "metrics");
	for (size_t i = 0; i < a->n; i++) {
		const struct both *b = &a->metrics[i];

		room = mem_alloc(MEM_BASE, b->n[side] + 1, sizeof *room);
		if (!room)
			return err_nomem(err);
		infer_metric_put(w, &(struct infer_metric){ .name = b->name,
		                                            .unit = b->unit,
		                                            .higher = b->higher,
		                                            .values = b->v[side],
		                                            .scratch = room,
		                                            .n = b->n[side] });
		mem_free(room);
	}
	jw_end(w);
	if (bench_commit())
		jw_str(w, "commit", bench_commit());
	infer_put_machine(w, (int32_t)a->o->engine.threads);
	return infer_records_end(out, err);
}

static int write_all(const struct ab *a, infer_records *out, infer_error *err)
{
	TRY(write_side(a, 0, out, err));
	TRY(write_side(a, 1, out, err));
	for (size_t i = 0; i < a->n; i++) {
		struct jwrite *w = infer_records_begin(out, INFER_KIND_COMPARE);

		compare_put(w, "ab", a->metrics[i].name, a->metrics[i].unit, &a->judged[i], 1);
		jw_num(w, "tolerance", a->o->tolerance);
		TRY(infer_records_end(out, err));
	}
	return INFER_OK;
}

static int show_all(const struct ab *a, infer_error *err)
{
	struct unclear why = { 0 };
	struct buf t;
	int rc;

	buf_init(&t, MEM_BASE);
	buf_printf(&t, "base: %.70s\nnew:  %.70s\n%lld rounds in turns\n", a->side[0].name,
	           a->side[1].name, (long long)a->rounds);
	compare_head(&t);
	for (size_t i = 0; i < a->n; i++) {
		compare_line(&t, a->metrics[i].name, &a->judged[i]);
		unclear_add(&why, a->metrics[i].name, &a->judged[i]);
	}
	unclear_put(&t, &why, 1);
	rc = t.bad ? err_nomem(err) : say_out(t.at, t.len, err);
	buf_fini(&t);
	return rc;
}

static int report_all(struct ab *a, struct append *out, infer_error *err)
{
	a->created_ms = still_unix_ms();
	TRY(verdicts(a, err));
	TRY(append_open(out, a->o->json, a->o->record, err));
	if (out->file)
		TRY(write_all(a, out->file, err));
	if (out->out)
		TRY(write_all(a, out->out, err));
	TRY(append_send(out, err));
	return out->out ? INFER_OK : show_all(a, err);
}

/* Say how long it may take, if no progress line will show it. */
static void note_rounds(const struct ab *a)
{
	const struct bench_opts *o = a->o;

	if (isatty(STDERR_FILENO))
		return;
	if (a->most > a->step)
		say_note(0,
		         "%lld rounds of both, then up to %lld while an interval is wide; none "
		         "of these begins after %g s",
		         (long long)a->step, (long long)a->most, o->max_time);
	else
		say_note(0, "%lld rounds of both", (long long)a->most);
}

/* Set the number of rounds. With --rounds alone it is exactly that; --max-rounds is never exceeded. */
static int set_rounds(struct ab *a, infer_error *err)
{
	enum { STEP = 20, MOST = 400 };
	const struct bench_opts *o = a->o;

	if (o->rounds && o->max_rounds && o->max_rounds < o->rounds)
		return err_set(err, INFER_EINVAL, "--max-rounds %lld is less than --rounds %lld",
		               (long long)o->max_rounds, (long long)o->rounds);
	a->most = o->max_rounds ? o->max_rounds : o->rounds ? o->rounds : MOST;
	a->step = o->rounds ? o->rounds : a->most < STEP ? a->most : STEP;
	return INFER_OK;
}

int ab(const struct bench_opts *o, const struct opt_rest *rest)
{
	static struct ab a;
	struct append out = { .fd = -1 };
	infer_error err = { 0 };
	int rc, late, worse = 0;

	if (rest->n_words < 3) {
		say_error("ab needs two commands, two programs and their arguments after --, or "
		          "two URLs");
		return EXIT_USAGE;
	}
	a.o = o;
	if (set_rounds(&a, &err))
		return say_fail(&err);
	arena_init(&a.mem, MEM_BASE);
	progress_begin("rounds", PROGRESS_ITEMS, 2 * (uint64_t)(a.most + 1));
	rc = set_sides(&a, rest, &err);
	if (!rc)
		note_rounds(&a);
	if (!rc)
		rc = rounds(&a, &err);
	progress_end();
	if (!rc)
		rc = report_all(&a, &out, &err);
	for (size_t i = 0; i < a.n; i++)
		worse |= a.judged[i].verdict == VERDICT_WORSE;
	late = append_close(&out, rc ? NULL : &err);
	for (int i = 0; i < 2; i++)
		if (a.side[i].open)
			serve_close(&a.side[i].serve);
	arena_fini(&a.mem);
	if (rc || late)
		return say_fail(&err);
	return worse ? EXIT_DIFFERS : EXIT_DONE;
}
