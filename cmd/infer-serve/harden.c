/* infer-serve/harden.c - the server gives up what it does not need.  Where the kernel does not let it, it
 * serves all the same, and -v says so. */
#include "infer-serve/harden.h"
#include "infer-serve/serve.h"
#include "common/say.h"
#include "base/sandbox.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

enum { PATHS = 512 };
struct paths {
	char *at[PATHS];
	int n;
};

static void add(struct paths *p, const char *path)
{
	char *copy = path && p->n < PATHS ? mem_strndup(MEM_BASE, path, strlen(path)) : NULL;

	if (copy)
		p->at[p->n++] = copy;
}

/* The folder of a file that is read again, and that of what its name leads to. */
static void add_folder(struct paths *p, const char *file)
{
	char *real, *copy;

	if (!file || !(copy = mem_strndup(MEM_BASE, file, strlen(file))))
		return;
	add(p, dirname(copy));
	mem_free(copy);
	real = realpath(file, NULL);
	if (real)
		add(p, dirname(real));
	free(real);
}

void harden_files(const struct server *s)
{
	/* counters of the process; the time, in templates */
	static const char *const always[] = { "/proc", "/etc", "/usr/share/zoneinfo", "/dev/null" };
	struct paths p = { .n = 0 };
	infer_error err;

	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		add(&p, always[i]);
	for (const struct served *m = s->models; m; m = m->next) {
		add_folder(&p, m->model ? infer_file_path(infer_model_file(m->model)) : m->o.model);
		add_folder(&p, m->o.chat.template);
		add_folder(&p, m->o.api_key_file);
	}
	if (s->o->config) {
		/* what an engine that is opened later looks at */
		add(&p, "/sys/devices/system");
		add(&p, "/sys/fs/cgroup");
		add_folder(&p, s->o->config);
		for (size_t i = 0; i < s->folders.len; i += strlen(s->folders.at + i) + 1)
			add(&p, s->folders.at + i);
	}
	add_folder(&p, s->o->api_key_file);
	add(&p, s->o->files_dir);
	if (sandbox_paths((const char *const *)p.at, p.n, &s->o->files_dir, s->o->files_dir != NULL,
	                  &err))
		say_note(1, "all files stay in reach: %s", err.message);
	while (p.n)
		mem_free(p.at[--p.n]);
}

void harden(void)
{
	infer_error err;

	if (sandbox_serve(&err))
		say_note(1, "all system calls stay in reach: %s", err.message);
}
