/* infer-bench/scrape.c - counters of a server and of its machine. */
#include "scrape.h"
#include "common/file.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/jread.h"

#include <glob.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 1 << 16 };

/* Names of counters in infer-serve, llama.cpp, vLLM and SGLang. */
static const struct {
	const char *name;
	size_t at;
} names[] = {
	{ "infer_prompt_tokens_total", offsetof(struct scraped, prompt_tokens) },
	{ "infer_generation_tokens_total", offsetof(struct scraped, completion_tokens) },
	{ "infer_prompt_tokens_cached_total", offsetof(struct scraped, cached_tokens) },
	{ "infer_kv_cache_usage_ratio", offsetof(struct scraped, cache_usage) },
	{ "process_resident_memory_bytes", offsetof(struct scraped, resident_bytes) },
	{ "llamacpp:prompt_tokens_total", offsetof(struct scraped, prompt_tokens) },
	{ "llamacpp:tokens_predicted_total", offsetof(struct scraped, completion_tokens) },
	{ "llamacpp:kv_cache_usage_ratio", offsetof(struct scraped, cache_usage) },
	{ "vllm:prompt_tokens_total", offsetof(struct scraped, prompt_tokens) },
	{ "vllm:generation_tokens_total", offsetof(struct scraped, completion_tokens) },
	{ "vllm:kv_cache_usage_perc", offsetof(struct scraped, cache_usage) },
	{ "sglang:prompt_tokens_total", offsetof(struct scraped, prompt_tokens) },
	{ "sglang:generation_tokens_total", offsetof(struct scraped, completion_tokens) },
	{ "sglang:cached_tokens_total", offsetof(struct scraped, cached_tokens) },
	{ "sglang:token_usage", offsetof(struct scraped, cache_usage) },
};

/* Read a line: name, labels in braces or none, a space, the value. Add the values of all models. */
static void scrape_line(struct scraped *s, const char *line)
{
	size_t n = strcspn(line, "{ \n");
	const char *value = line + n;

	if (*value == '{') { /* skip the labels; braces inside quotes do not end them */
		int quoted = 0;

		while (*value && *value != '\n' && (quoted || *value != '}')) {
			int escape = *value == '\\' && value[1];

			quoted ^= *value == '"';
			value += 1 + escape;
		}
		value += *value == '}';
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		double *to = (double *)(void *)((char *)s + names[i].at), v = strtod(value, NULL);

		if (strlen(names[i].name) == n && !memcmp(names[i].name, line, n))
			*to = (*to < 0 ? 0 : *to) + v;
	}
}

void scrape_read(struct scraped *s, const char *text)
{
	*s = (struct scraped){ -1, -1, -1, -1, -1 };
	while (*text) {
		if (*text != '#')
			scrape_line(s, text);
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
}

int scrape_metrics(struct scraped *s, struct client *h, infer_error *err)
{
	struct buf text;
	int64_t status;
	int rc;

	buf_init(&text, MEM_BASE);
	rc = client_ask(h, "/metrics", NULL, &status, &text, err);
	scrape_read(s, !rc && status == 200 ? text.at : "");
	buf_fini(&text);
	return rc;
}

int scrape_model(struct client *h, struct buf *name, int64_t *ctx, infer_error *err)
{
	struct buf text;
	struct arena mem;
	const struct json *v = NULL, *first;
	int64_t status;
	int rc;

	buf_init(&text, MEM_BASE);
	arena_init(&mem, MEM_BASE);
	rc = client_ask(h, "/v1/models", NULL, &status, &text, err);
	if (!rc && status == 200 && jread(&v, &mem, text.at, text.len - 1, "models", NULL))
		v = NULL;
	first = json_first(json_get(v, "data"));
	if (!rc && !json_is_string(json_get(first, "id")))
		rc = err_set(err, INFER_ENET,
		             "/v1/models: status %d, and no model; name one with --alias",
		             (int)status);
	if (!rc) {
		const struct json *n = json_get(first, "max_model_len"),
				  *meta = json_get(first, "meta");

		buf_put(name, json_str(json_get(first, "id")), json_bytes(json_get(first, "id")));
		buf_putc(name, 0);
		n = n ? n : json_get(meta, "n_ctx");
		n = n ? n : json_get(meta, "n_ctx_train");
		*ctx = (int64_t)json_double(n);
	}
	arena_fini(&mem);
	buf_fini(&text);
	return rc;
}

/* Return the number after a word in a small file (NULL: the first number); -1: there is none. */
static double number_in(const char *path, const char *behind)
{
	struct buf text;
	const char *at;
	double v = -1;

	buf_init(&text, MEM_BASE);
	if (!file_read(&text, path, SMALL, NULL)) {
		buf_putc(&text, 0);
		at = text.bad ? NULL : strstr(text.at, behind);
		if (at)
			v = strtod(at + strlen(behind), NULL);
	}
	buf_fini(&text);
	return v;
}

double scrape_peak_bytes(int64_t pid)
{
	char path[64];
	double kib;

	snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
	kib = number_in(path, "VmHWM:");
	return kib < 0 ? -1 : kib * 1024;
}

/* Packages are intel-rapl:0, intel-rapl:1 ...; names of parts of a package have a second colon. */
double scrape_energy_j(void)
{
	glob_t found;
	double uj = -1;

	if (glob("/sys/class/powercap/intel-rapl:[0-9]*", 0, NULL, &found))
		return -1;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/');
		char path[256];
		double v;

		if (strchr(strchr(name, ':') + 1, ':'))
			continue;
		snprintf(path, sizeof path, "%s/energy_uj", found.gl_pathv[i]);
		v = number_in(path, "");
		if (v >= 0)
			uj = (uj < 0 ? 0 : uj) + v;
	}
	globfree(&found);
	return uj < 0 ? -1 : uj * 1e-6;
}
