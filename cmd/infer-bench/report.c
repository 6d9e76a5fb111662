/* infer-bench/report.c - report: records as one self-contained page of HTML. */
#include "bench.h"
#include "figure.h"
#include "rules.h"
#include "common/file.h"
#include "common/say.h"
#include "base/err.h"
#include "base/jwrite.h"

#include <string.h>

static const char head[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n<title>Measurements</title>\n"
	"<style>\nbody{font:16px/1.45 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
	"color:#222;background:#fff}\ntable{border-collapse:collapse;margin:.5rem 0 1.5rem}\n"
	"th,td{padding:.2rem .7rem;border-bottom:1px solid #ddd;text-align:right}\n"
	"th:first-child,td:first-child{text-align:left}\ntd.t{text-align:left}\n"
	"h3{margin-bottom:0;font-size:1rem}\nsvg{max-width:100%;height:auto}\n"
	"pre{overflow-x:auto}\n.broken{color:#b00020;font-weight:bold}\n"
	".unknown{color:#666}\n</style></head><body>\n";

static void put_escaped(struct buf *to, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '&')
			buf_puts(to, "&amp;");
		else if (s[i] == '<')
			buf_puts(to, "&lt;");
		else if (s[i] == '>')
			buf_puts(to, "&gt;");
		else
			buf_putc(to, s[i]);
	}
}

static void fact(struct buf *to, const char *name, const struct json *v)
{
	struct jwrite w;
	struct buf b;

	if (!v || json_is_null(v))
		return;
	buf_printf(to, "<tr><td>%s</td><td class=\"t\">", name);
	if (json_is_string(v)) {
		put_escaped(to, json_str(v), json_bytes(v));
	} else {
		buf_init(&b, MEM_BASE);
		jw_init(&w, &b);
		jw_value(&w, NULL, v);
		put_escaped(to, b.at ? b.at : "", b.len);
		to->bad |= b.bad;
		buf_fini(&b);
	}
	buf_puts(to, "</td></tr>\n");
}

/* Append a table of what was measured; each fact from the first record that has it. */
static void facts(struct buf *to, const struct cases *c)
{
	const struct json *r = c->first->records[0], *m = json_get(r, "model"),
			  *machine = json_get(r, "machine");

	machine = machine ? machine : json_get(r, "run");
	buf_puts(to, "<h2>What was measured</h2>\n<table>\n");
	fact(to, "model", json_get(json_get(json_get(r, "run"), "model"), "name"));
	fact(to, "served as", json_get(r, "served"));
	fact(to, "id", json_get(m, "id"));
	fact(to, "architecture", json_get(m, "architecture"));
	fact(to, "parameters", json_get(m, "n_params"));
	fact(to, "of them used by a token", json_get(m, "active_params"));
	fact(to, "bits per weight", json_get(m, "bits_per_weight"));
	fact(to, "bytes by type", json_get(m, "types"));
	fact(to, "version", json_get(machine, "version"));
	fact(to, "commit", json_get(r, "commit"));
	fact(to, "options", json_get(json_get(r, "run"), "flags"));
	fact(to, "options", json_get(r, "flags"));
	fact(to, "processor", json_get(machine, "cpu"));
	fact(to, "kernel sets", json_get(machine, "kernels"));
	fact(to, "threads", json_get(machine, "threads"));
	buf_puts(to, "</table>\n");
}

/* Append a figure of every kind for which the records have points: by gnuplot, or as text without it. */
static int figures(struct buf *to, const struct cases *c, infer_error *err)
{
	struct arena mem;
	struct figure f;
	struct buf svg;
	int letters = 0, rc = INFER_OK;

	arena_init(&mem, MEM_BASE);
	buf_init(&svg, MEM_BASE);
	for (int kind = FIGURE_AUTO + 1; !rc && kind <= FIGURE_ROOFLINE; kind++) {
		rc = figure_make(&f, c, (enum figure_kind)kind, &mem, err);
		if (rc == INFER_EFORMAT) {
			rc = INFER_OK;
			continue;
		}
		buf_clear(&svg);
		if (!letters && !rc && figure_gnuplot(&f, FIGURE_SVG, &svg, err)) {
			say_warning("gnuplot is not installed: figures are drawn as text");
			letters = 1;
		}
		const char *at = letters || !svg.len ? NULL : strstr(svg.at, "<svg");

		if (at) {
			buf_put(to, at, svg.len - (size_t)(at - svg.at));
		} else if (!rc) {
			buf_clear(&svg);
			figure_text(&f, &svg);
			buf_puts(to, "<pre>");
			put_escaped(to, svg.at, svg.len);
			buf_puts(to, "</pre>\n");
		}
	}
	buf_fini(&svg);
	arena_fini(&mem);
	return rc;
}

static void cell(struct buf *to, const struct json *percentile)
{
	buf_printf(to, "<td>%.4g</td>", json_double(json_get(percentile, "value")));
}

static void metrics(struct buf *to, const struct bench_case *k)
{
	const struct json *r = k->records[k->n - 1];

	buf_puts(to, "<h3>");
	put_escaped(to, k->key, strlen(k->key));
	buf_puts(to,
	         "</h3>\n<table><tr><th>metric</th><th>n</th><th>median</th><th>its interval of "
	         "95 %</th><th>p95</th><th>p99</th><th>unit</th></tr>\n");
	json_each(m, json_get(r, "metrics")) {
		const struct json *p50 = json_get(m, "p50"), *unit = json_get(m, "unit");
		double n = json_double(json_get(m, "n"));

		buf_puts(to, "<tr><td>");
		put_escaped(to, m->key, m->key_n);
		buf_printf(to, "</td><td>%.0f</td>", n);
		cell(to, p50);
		if (json_get(p50, "lo"))
			buf_printf(to, "<td>%.4g to %.4g</td>", json_double(json_get(p50, "lo")),
			           json_double(json_get(p50, "hi")));
		else
			buf_puts(to, "<td>too few</td>");
		if (n >= 20)
			cell(to, json_get(m, "p95"));
		else
			buf_puts(to, "<td></td>");
		if (n >= 100)
			cell(to, json_get(m, "p99"));
		else
			buf_puts(to, "<td></td>");
		buf_puts(to, "<td class=\"t\">");
		put_escaped(to, json_str(unit), json_bytes(unit));
		buf_puts(to, "</td></tr>\n");
	}
	buf_puts(to, "</table>\n");
}

static void rules(struct buf *to, const struct cases *c)
{
	static const char *const states[] = { "unknown", "kept", "broken" };
	struct rule_said all[RULE_COUNT] = { 0 }, one[RULE_COUNT];

	for (const struct bench_case *k = c->first; k; k = k->next)
		for (size_t i = 0; i < k->n; i++) {
			rules_check(one, k->records[i], i ? k->records[0] : NULL, 0);
			rules_add(all, one);
		}
	buf_puts(to, "<h2>Rules</h2>\n<table>\n");
	for (int i = 0; i < RULE_COUNT; i++) {
		buf_printf(to, "<tr><td>%s</td><td class=\"t %s\">%s</td><td class=\"t\">",
		           rule_name(i), states[all[i].state], states[all[i].state]);
		put_escaped(to, all[i].says, strlen(all[i].says));
		buf_puts(to, "</td></tr>\n");
	}
	buf_puts(to, "</table>\n");
}

static int page(struct buf *to, const struct cases *c, infer_error *err)
{
	buf_puts(to, head);
	buf_puts(to, "<h1>Measurements</h1>\n");
	facts(to, c);
	TRY(figures(to, c, err));
	buf_puts(to, "<h2>Figures</h2>\n");
	for (const struct bench_case *k = c->first; k; k = k->next)
		if (json_get(k->records[k->n - 1], "metrics"))
			metrics(to, k);
	rules(to, c);
	buf_puts(to, "</body></html>\n");
	return to->bad ? err_nomem(err) : INFER_OK;
}

int report(const struct bench_opts *o, const struct opt_rest *rest)
{
	struct cases c;
	struct buf out;
	infer_error err = { 0 };
	int rc = cases_read_all(&c, rest->words + 1, rest->n_words - 1, &err);

	buf_init(&out, MEM_BASE);
	if (!rc)
		rc = page(&out, &c, &err);
	if (!rc)
		rc = o->out ? file_write(o->out, out.at, out.len, 0666, &err)
		            : say_out(out.at, out.len, &err);
	buf_fini(&out);
	cases_fini(&c);
	return rc ? say_fail(&err) : EXIT_DONE;
}
