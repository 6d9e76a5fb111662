/* infer-bench/convert.c - convert: records from and to the JSON of llama-bench and vLLM's benchmark. */
#include "bench.h"
#include "common/file.h"
#include "common/say.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum convert_form { TO_JSONL, TO_LLAMA, TO_VLLM };
enum { MAX_FILE_BYTES = 1 << 28 };

struct convert {
	const struct bench_opts *o;
	const char *name;
	struct jwrite w; /* output in the form of llama-bench or vLLM */
	struct buf out;
	struct arena mem;
	size_t n;
};

static double get_number(const struct json *r, const char *key)
{
	return json_double(json_get(r, key));
}

static void copy_member(struct jwrite *w, const char *key, const struct json *v)
{
	if (v)
		jw_value(w, key, v);
	else
		jw_null(w, key);
}

/* ---- to our records ---- */

static double *read_numbers(struct convert *c, const struct json *list, double times, size_t *n)
{
	double *v = arena_alloc(&c->mem, 2 * json_count(list) + 1, sizeof *v);

	*n = 0;
	if (v)
		json_each(x, list)
			v[(*n)++] = json_double(x) * times;
	return v;
}

/* Write the first members of a record. */
static void begin_record(struct convert *c, struct jwrite *w, const char *bench)
{
	infer_record_open(w, &c->out, INFER_KIND_BENCH, c->n++ ? 0 : INFER_RECORD_FIRST);
	jw_str(w, "bench", bench);
}

static int from_llama(struct convert *c, const struct json *r, infer_error *err)
{
	int64_t prompt = (int64_t)get_number(r, "n_prompt"), gen = (int64_t)get_number(r, "n_gen");
	struct jwrite w;
	size_t n;
	double *v = read_numbers(c, json_get(r, "samples_ts"), 1, &n);

	if ((prompt > 0) == (gen > 0))
		return err_set(err, INFER_EUNSUP,
		               "%s: a test of n_prompt %lld and n_gen %lld is neither prefill nor "
		               "producing alone",
		               c->name, (long long)prompt, (long long)gen);
	if (!v)
		return err_set(err, INFER_ENOMEM, "out of memory for %s", c->name);
	if (!n)
		v[n++] = get_number(r, "avg_ts");
	begin_record(c, &w, gen ? "decode" : "prefill");
	jw_int(&w, "tokens", gen ? gen : prompt);
	jw_int(&w, "depth", (int64_t)get_number(r, "n_depth"));
	jw_int(&w, "batch", 1);
	jw_uint(&w, "repeat", n);
	jw_str(&w, "clock", "wall");
	jw_object(&w, "metrics");
	infer_metric_put(&w, &(struct infer_metric){ .name = gen ? "decode_tok_s" : "prefill_tok_s",
	                                             .unit = "tok/s",
	                                             .higher = 1,
	                                             .values = v,
	                                             .scratch = v + n,
	                                             .n = n });
	jw_end(&w);
	memcpy(v + n, v, n * sizeof *v);
	infer_sort(v + n, n);
	jw_object(&w, "tok_s");
	jw_num(&w, "median", infer_quantile(v + n, n, 0.5));
	jw_num(&w, "min", v[n]);
	jw_num(&w, "max", v[2 * n - 1]);
	jw_end(&w);
	jw_object(&w, "model");
	copy_member(&w, "id", json_get(r, "model_filename"));
	copy_member(&w, "architecture", json_get(r, "model_type"));
	copy_member(&w, "n_params", json_get(r, "model_n_params"));
	jw_end(&w);
	copy_member(&w, "commit", json_get(r, "build_commit"));
	jw_object(&w, "machine");
	jw_str(&w, "version", "llama.cpp");
	copy_member(&w, "cpu", json_get(r, "cpu_info"));
	copy_member(&w, "threads", json_get(r, "n_threads"));
	jw_end(&w);
	infer_record_close(&w);
	return INFER_OK;
}

/* Write a metric of vLLM: from the list of measurements (--save-detailed), or else from its percentiles. */
static void metric_of_vllm(struct convert *c, struct jwrite *w, const struct json *r,
                           const char *name, const char *theirs, const char *list)
{
	static const char *const parts[] = { "mean", "p50", "p95", "p99" }, *const words[] = {
		"mean", "median", "p95", "p99"
	};
	size_t n;
	double *v = read_numbers(c, json_get(r, list), 1e3, &n);

	if (v && n) {
		infer_metric_put(w, &(struct infer_metric){ .name = name,
		                                            .unit = "ms",
		                                            .values = v,
		                                            .scratch = v + n,
		                                            .n = n });
		return;
	}
	jw_object(w, name);
	jw_str(w, "unit", "ms");
	jw_str(w, "better", "lower");
	jw_int(w, "n", (int64_t)get_number(r, "completed"));
	for (int i = 0; i < 4; i++) {
		char key[64];
		const struct json *x;

		snprintf(key, sizeof key, "%s_%s_ms", words[i], theirs);
		x = json_get(r, key);
		if (!x)
			continue;
		if (i)
			jw_object(w, parts[i]);
		copy_member(w, i ? "value" : parts[i], x);
		if (i)
			jw_end(w);
	}
	jw_end(w);
}

static void put_single_value(struct jwrite *w, const char *name, const char *unit, double v)
{
	double room;

	infer_metric_put(w, &(struct infer_metric){ .name = name,
	                                            .unit = unit,
	                                            .higher = 1,
	                                            .values = &v,
	                                            .scratch = &room,
	                                            .n = 1 });
}

static int from_vllm(struct convert *c, const struct json *r, infer_error *err)
{
	const struct json *rate = json_get(r, "request_rate"),
			  *clients = json_get(r, "max_concurrency");
	struct jwrite w;

	(void)err;
	begin_record(c, &w, "serve");
	jw_object(&w, "workload");
	jw_str(&w, "loop", json_is_number(rate) ? "open" : "closed"); /* closed: rate is "inf" */
	if (json_is_number(rate))
		copy_member(&w, "rate", rate);
	if (json_is_number(clients))
		copy_member(&w, "clients", clients);
	copy_member(&w, "requests", json_get(r, "num_prompts"));
	jw_end(&w);
	copy_member(&w, "served", json_get(r, "model_id"));
	jw_object(&w, "counts");
	copy_member(&w, "completed", json_get(r, "completed"));
	copy_member(&w, "failed", json_get(r, "failed"));
	copy_member(&w, "prompt_tokens", json_get(r, "total_input_tokens"));
	copy_member(&w, "completion_tokens", json_get(r, "total_output_tokens"));
	jw_null(&w, "agree");
	jw_end(&w);
	jw_object(&w, "metrics");
	metric_of_vllm(c, &w, r, "ttft_ms", "ttft", "ttfts");
	metric_of_vllm(c, &w, r, "tpot_ms", "tpot", "");
	metric_of_vllm(c, &w, r, "itl_ms", "itl", "");
	metric_of_vllm(c, &w, r, "e2e_ms", "e2el", "");
	put_single_value(&w, "tok_s", "tok/s", get_number(r, "output_throughput"));
	put_single_value(&w, "requests_s", "requests/s", get_number(r, "request_throughput"));
	jw_end(&w);
	copy_member(&w, "wall_s", json_get(r, "duration"));
	infer_record_close(&w);
	return INFER_OK;
}

/* ---- from our records ---- */

static void moments(struct jwrite *w, const char *mean, const char *deviation, const double *v,
                    size_t n)
{
	double m = infer_mean(v, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (v[i] - m) * (v[i] - m);
	jw_num(w, mean, m);
	jw_num(w, deviation, n > 1 ? sqrt(sum / (double)(n - 1)) : 0);
}

static int to_llama(struct convert *c, const struct json *r, infer_error *err)
{
	int decode = json_equals(json_get(r, "bench"), "decode");
	const struct json *m = json_get(json_get(r, "metrics"),
	                                decode ? "decode_tok_s" : "prefill_tok_s"),
			  *run = json_get(r, "run"), *model = json_get(run, "model");
	size_t n;
	double *v = read_numbers(c, json_get(m, "values"), 1, &n), tokens = get_number(r, "tokens");

	if ((!decode && !json_equals(json_get(r, "bench"), "prefill")) || !n ||
	    get_number(r, "batch") > 1)
		return err_set(err, INFER_EUNSUP,
		               "%s: llama-bench has only tests of one sequence with their "
		               "repetitions; this "
		               "record is not one",
		               c->name);
	if (json_get(run, "adapters"))
		return err_set(err, INFER_EUNSUP,
		               "%s: llama-bench has no adapters, and this record has", c->name);
	jw_object(&c->w, NULL);
	copy_member(&c->w, "build_commit", json_get(r, "commit"));
	copy_member(&c->w, "cpu_info", json_get(json_get(r, "machine"), "cpu"));
	jw_str(&c->w, "backends", "CPU");
	copy_member(&c->w, "model_filename", json_get(model, "path"));
	copy_member(&c->w, "model_type", json_get(json_get(r, "model"), "architecture"));
	copy_member(&c->w, "model_size", json_get(model, "file_bytes"));
	copy_member(&c->w, "model_n_params", json_get(json_get(r, "model"), "n_params"));
	copy_member(&c->w, "n_threads", json_get(json_get(r, "machine"), "threads"));
	jw_int(&c->w, "n_prompt", decode ? 0 : (int64_t)tokens);
	jw_int(&c->w, "n_gen", decode ? (int64_t)tokens : 0);
	jw_int(&c->w, "n_depth", (int64_t)get_number(r, "depth"));
	for (size_t i = 0; i < n; i++)
		v[n + i] = v[i] > 0 ? tokens * 1e9 / v[i] : 0;
	moments(&c->w, "avg_ns", "stddev_ns", v + n, n);
	moments(&c->w, "avg_ts", "stddev_ts", v, n);
	for (int ts = 0; ts < 2; ts++) {
		jw_array(&c->w, ts ? "samples_ts" : "samples_ns");
		for (size_t i = 0; i < n; i++)
			if (ts)
				jw_num(&c->w, NULL, v[i]);
			else
				jw_int(&c->w, NULL, (int64_t)v[n + i]);
		jw_end(&c->w);
	}
	jw_end(&c->w);
	return INFER_OK;
}

static void metric_to_vllm(struct jwrite *w, const struct json *r, const char *name,
                           const char *theirs)
{
	static const char *const parts[] = { "p50", "p95", "p99" }, *const words[] = { "median",
		                                                                       "p95",
		                                                                       "p99" };
	const struct json *m = json_get(json_get(r, "metrics"), name);
	char key[64];

	snprintf(key, sizeof key, "mean_%s_ms", theirs);
	copy_member(w, key, json_get(m, "mean"));
	for (int i = 0; i < 3; i++) {
		snprintf(key, sizeof key, "%s_%s_ms", words[i], theirs);
		copy_member(w, key, json_get(json_get(m, parts[i]), "value"));
	}
}

static int to_vllm(struct convert *c, const struct json *r, infer_error *err)
{
	const struct json *work = json_get(r, "workload"), *counts = json_get(r, "counts"),
			  *metrics = json_get(r, "metrics");
	double wall = get_number(r, "wall_s"), in = get_number(counts, "prompt_tokens"),
	       out = get_number(counts, "completion_tokens");

	if (!json_equals(json_get(r, "bench"), "serve") || !(wall > 0))
		return err_set(err, INFER_EUNSUP,
		               "%s: vLLM's form is for servers, and this record is of %.*s",
		               c->name, (int)json_bytes(json_get(r, "bench")),
		               json_str(json_get(r, "bench")));
	if (c->n++)
		return err_set(err, INFER_EUNSUP, "%s: a file of vLLM has one measurement",
		               c->name);
	jw_object(&c->w, NULL);
	jw_str(&c->w, "backend", "openai");
	copy_member(&c->w, "model_id", json_get(r, "served"));
	copy_member(&c->w, "num_prompts", json_get(work, "requests"));
	if (json_get(work, "rate"))
		copy_member(&c->w, "request_rate", json_get(work, "rate"));
	else
		jw_str(&c->w, "request_rate", "inf");
	copy_member(&c->w, "max_concurrency", json_get(work, "clients"));
	jw_num(&c->w, "duration", wall);
	copy_member(&c->w, "completed", json_get(counts, "completed"));
	copy_member(&c->w, "failed", json_get(counts, "failed"));
	jw_num(&c->w, "total_input_tokens", in);
	jw_num(&c->w, "total_output_tokens", out);
	jw_num(&c->w, "request_throughput", get_number(counts, "completed") / wall);
	jw_num(&c->w, "output_throughput", out / wall);
	jw_num(&c->w, "total_token_throughput", (in + out) / wall);
	metric_to_vllm(&c->w, r, "ttft_ms", "ttft");
	metric_to_vllm(&c->w, r, "tpot_ms", "tpot");
	metric_to_vllm(&c->w, r, "itl_ms", "itl");
	metric_to_vllm(&c->w, r, "e2e_ms", "e2el");
	jw_array(&c->w, "ttfts");
	json_each(x, json_get(json_get(metrics, "ttft_ms"), "values"))
		jw_num(&c->w, NULL, json_double(x) * 1e-3);
	jw_end(&c->w);
	jw_end(&c->w);
	return INFER_OK;
}

/* ---- files ---- */

/* Convert one JSON value. */
static int convert_value(struct convert *c, const struct json *r, infer_error *err)
{
	int ours = json_is_string(json_get(r, "kind"));

	if (ours && !json_equals(json_get(r, "kind"), "bench"))
		return INFER_OK; /* skip records of other kinds */
	if (ours && c->o->to != TO_JSONL)
		return c->o->to == TO_LLAMA ? to_llama(c, r, err) : to_vllm(c, r, err);
	if (!ours && c->o->to == TO_JSONL && json_get(r, "avg_ts"))
		return from_llama(c, r, err);
	if (!ours && c->o->to == TO_JSONL && json_get(r, "request_throughput"))
		return from_vllm(c, r, err);
	return err_set(err, INFER_EFORMAT,
	               ours ? "%s: is already a record of infer-bench"
	                    : "%s: is neither a record nor JSON of llama-bench or vLLM's benchmark",
	               c->name);
}

/* Convert a file: one JSON value, an array of values, or one value per line. */
static int convert_text(struct convert *c, const char *text, size_t bytes, infer_error *err)
{
	const struct json *v;

	if (!jread(&v, &c->mem, text, bytes, c->name, NULL)) {
		if (!json_is_array(v))
			return convert_value(c, v, err);
		json_each(x, v)
			TRY(convert_value(c, x, err));
		return INFER_OK;
	}
	for (size_t at = 0, n; at < bytes; at += n + 1) {
		const char *end = memchr(text + at, '\n', bytes - at);

		n = end ? (size_t)(end - (text + at)) : bytes - at;
		if (!n)
			continue;
		TRY(jread(&v, &c->mem, text + at, n, c->name, err));
		TRY(convert_value(c, v, err));
	}
	return INFER_OK;
}

static int convert_file(struct convert *c, const char *path, infer_error *err)
{
	struct buf text;
	int rc;

	buf_init(&text, MEM_BASE);
	c->name = path;
	rc = file_read(&text, path, MAX_FILE_BYTES, err);
	if (!rc)
		rc = convert_text(c, text.at ? text.at : "", text.len, err);
	buf_fini(&text);
	return rc;
}

int convert(const struct bench_opts *o, const struct opt_rest *rest)
{
	struct convert c = { .o = o };
	infer_error err = { 0 };
	int rc = INFER_OK;

	if (rest->n_words < 2) {
		say_error("convert takes files: records, or the JSON of llama-bench or vLLM");
		return EXIT_USAGE;
	}
	arena_init(&c.mem, MEM_BASE);
	buf_init(&c.out, MEM_BASE);
	jw_init(&c.w, &c.out);
	if (o->to == TO_LLAMA)
		jw_array(&c.w, NULL);
	for (int i = 1; !rc && i < rest->n_words; i++)
		rc = convert_file(&c, rest->words[i], &err);
	if (o->to == TO_LLAMA)
		jw_end(&c.w);
	if (o->to != TO_JSONL)
		jw_line(&c.w);
	if (!rc && c.out.bad)
		rc = err_nomem(&err);
	if (!rc)
		rc = o->out ? file_write(o->out, c.out.at, c.out.len, 0666, &err)
		            : say_out(c.out.at, c.out.len, &err);
	buf_fini(&c.out);
	arena_fini(&c.mem);
	return rc ? say_fail(&err) : EXIT_DONE;
}
