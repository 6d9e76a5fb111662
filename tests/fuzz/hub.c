/* tests/fuzz/hub.c - any bytes as an answer of the hub: refused in one line, or a commit, and files inside the repository and a
 * choice of them.
 * Input: the answer; up to the first NUL a reference and a name of a file or quantisation. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "hub/choose.h"
#include "hub/ref.h"
#include "hub/tree.h"

static void check_path(const char *path)
{
	must(*path && *path != '/' && strcmp(path, "..") && strncmp(path, "../", 3));
	must(!strstr(path, "/../") && !strstr(path, "//") && strlen(path) <= HUB_PATH_MOST);
	must(strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/.."));
}

static void choose(const struct hub_tree *t, const char *what, uint64_t memory)
{
	struct hub_choice c;
	infer_error err = { 0 };
	int rc = hub_choose(&c, t->mem, t->at, t->n, what, memory, "hf:o/r", &err);

	must(rc == err.code && !rc == !*err.message);
	if (rc)
		return;
	must(c.n > 0 && c.n <= t->n && c.is_dir == !c.first);
	for (size_t i = 0; i < c.n; i++)
		must(c.at[i] < t->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *tight = malloc(size + !size), *text = malloc(size + 1), commit[HUB_COMMIT];
	struct arena mem;
	struct hub_tree t = { .mem = &mem };
	struct hub_ref r;
	infer_error err = { 0 };

	if (!tight || !text)
		abort();
	memcpy(tight, data, size);
	memcpy(text, data, size);
	text[size] = 0;
	arena_init(&mem, MEM_HUB);
	int rc = hub_revision_read(commit, tight, size, &err);

	must(!rc || rc == INFER_EFORMAT);
	must(rc || hub_is_hex(commit, HUB_COMMIT - 1));
	rc = hub_tree_add(&t, tight, size, &err);
	must(!rc || rc == INFER_EFORMAT || rc == INFER_EUNSUP);
	for (size_t i = 0; i < t.n; i++)
		check_path(t.at[i].path);
	if (!rc) {
		choose(&t, NULL, 0);
		choose(&t, NULL, 1 << 30);
		choose(&t, "Q4_K_M", 0);
	}
	if (!hub_ref_parse(&r, text, &err)) {
		must(hub_repo_ok(r.repo, strlen(r.repo)) && hub_rev_ok(r.rev, strlen(r.rev)));
		must(!strchr(r.folder, '/') && !strstr(r.rev, ".."));
	}
	arena_fini(&mem);
	free(tight);
	free(text);
	return 0;
}
