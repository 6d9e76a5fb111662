/* infer-inspect/main.c - options, then one call. */
#include "opts.h"
#include "plan.h"
#include "common/confine.h"
#include "common/say.h"
#include "common/sig.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <string.h>

static const struct help_line lines[] = {
	{ "show", "whether it runs here, memory, sizes, metadata (the default)" },
	{ "tensors", "the tensor table: types, shapes, offsets, sizes, bits per weight" },
	{ "tokens", "ids and pieces of a text" },
	{ "template", "what the chat template can do, and a conversation as it renders it" },
	{ "verify", "read the whole file: sha256, and that every weight is finite" },
	{ "diff", "how two files differ: keys, tensors, types, values" },
	{ "lora", "an adapter: its tensors, ranks, sizes, and whether it fits -m MODEL" },
	{ "grammar", "a constraint: its size, whether texts satisfy it, texts that do" },
	{ "plan", "whether a model fits, how fast it is and for how many users" },
	{ "hw", "this machine, measured: memory, arithmetic, loops, disk; or --hw" },
	{ "pull", "download a model of the hub, and print its path" },
	{ "list", "models in the cache of the hub: size, last use, types" },
	{ "rm", "remove a model from that cache" },
	{ NULL, NULL },
};
static const struct help_line examples[] = {
	{ "infer-inspect tensors m.gguf --json", "records, for jq" },
	{ NULL, NULL },
};
static const struct program program = {
	.name = "infer-inspect",
	.usage = "infer-inspect [SUBJECT] [OPTION]... [FILE|TEXT|hf:ORG/REPO]...",
	.brief = "Look into model files, or at this machine.",
	.subjects = lines,
	.examples = examples,
	.rows = inspect_rows,
};

static const struct subject subjects[] = {
	{ "show", .needs_file = 1, .run = show },
	{ "tensors", .needs_file = 1, .run = tensors },
	{ "tokens", .needs_file = 1, .takes_words = 1, .run = tokens },
	{ "template", .needs_file = 1, .takes_words = 1, .takes_talk = 1, .run = template },
	{ "verify", .needs_file = 1, .run = verify },
	{ "diff", .needs_file = 1, .pair = diff },
	{ "lora", .needs_file = 1, .takes_words = 1, .run = lora },
	{ "grammar", .text = grammar },
	{ "pull", .is_cache = 1, .text = pull },
	{ "list", .is_cache = 1, .text = list },
	{ "rm", .is_cache = 1, .text = rm },
	{ "plan", .needs_file = 1, .run = plan },
	{ "hw", .run = hw },
};

/* Take the subject from the words; a word that names no subject is a file to show. */
static int take_subject(const struct subject **out, struct opt_rest *rest, infer_error *err)
{
	*out = &subjects[0];
	if (!rest->n_words)
		return INFER_OK;
	for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
		if (strcmp(subjects[i].name, rest->words[0]))
			continue;
		*out = &subjects[i];
		rest->words++;
		rest->n_words--;
		if (rest->n_words && !subjects[i].takes_words && !subjects[i].needs_file &&
		    !subjects[i].text)
			return err_set(err, INFER_EINVAL, "%s takes no argument: '%.60s'",
			               subjects[i].name, rest->words[0]);
		return INFER_OK;
	}
	return INFER_OK;
}

static int check_options(const struct subject *s, const struct inspect_opts *o,
                         const struct opt_rest *rest, infer_error *err)
{
	int takes_text = s->takes_words && s->run != lora;

	if (!takes_text && o->files.n)
		return err_set(err, INFER_EINVAL, "-f goes with tokens and template only");
	if ((!takes_text || s->takes_talk) && (o->no_stdin || o->raw || o->special || o->bos))
		return err_set(err, INFER_EINVAL,
		               "--no-stdin, --raw, --special and --bos go with tokens only");
	if (!s->takes_talk && (chat_given(&o->chat) || o->source))
		return err_set(err, INFER_EINVAL,
		               "--source and conversations go with template only");
	if (o->all && s->run != show && s->run != hw)
		return err_set(err, INFER_EINVAL, "--all goes with show and hw only");
	if ((o->sort || o->filter || o->stats) && s->run != tensors)
		return err_set(err, INFER_EINVAL,
		               "--sort, --filter and --stats go with tensors only");
	if ((o->machine || o->again) && s->run != hw && s->run != plan)
		return err_set(err, INFER_EINVAL, "--hw and --again go with hw and plan only");
	if (s->run != plan && (o->plan.ctx || o->plan.users || o->plan.prompt || o->plan.output ||
	                       o->plan.shared || o->plan.ttft_ms > 0 || o->plan.tpot_ms > 0 ||
	                       o->plan.budget || o->plan.price > 0 || o->plan.kv_type ||
	                       o->plan.chunk || o->plan.table || o->plan.device || o->plan.loras.n))
		return err_set(err, INFER_EINVAL,
		               "--ctx, --users, --prompt, --output and the like go with plan only");
	if (o->plan.device && (o->machine || o->plan.table))
		return err_set(err, INFER_EINVAL,
		               "--device goes with this machine: not with --hw and --table");
	if (o->plan.loras.n && o->plan.table)
		return err_set(err, INFER_EINVAL, "--lora does not go with --table");
	if (o->machine && o->again)
		return err_set(err, INFER_EINVAL, "--again measures this machine, not --hw");
	if ((!s->text || s->is_cache) && (o->as || o->checks.n || o->samples || o->seed.given ||
	                                  o->annotate || o->strict_formats || o->lax || o->budget))
		return err_set(
			err, INFER_EINVAL,
			"--as, --check, --sample, --seed, --format-annotation, --strict-formats, "
			"--lax-schema and --constraint-budget go with grammar only");
	if (s->text && rest->record.n)
		return err_set(err, INFER_EINVAL, "%s takes no %s", s->name,
		               s->is_cache ? "-m: models are its arguments" : "model");
	if (s->is_cache && s->text != list && o->json)
		return err_set(err, INFER_EINVAL, "--json does not go with %s", s->name);
	if (s->pair && (rest->n_words != 2 || rest->record.n))
		return err_set(err, INFER_EINVAL, "%s takes two files", s->name);
	if (!s->takes_words && rest->n_words && rest->record.n) /* only -m is recorded */
		return err_set(err, INFER_EINVAL,
		               "a model is named with -m or as an argument: '%.60s'",
		               rest->words[0]);
	return INFER_OK;
}

/* Print the answer of a subject for one file, two or none.  Sets *differs if texts or files
 * differ. */
static int run_on(const struct subject *s, const struct inspect_opts *o, infer_file *const *files,
                  const struct opt_rest *words, int *differs, infer_error *err)
{
	struct buf out;

	for (int i = 0; i < (s->pair ? 2 : o->stats); i++) /* the subject reads values of tensors */
		TRY(infer_file_gather(files[i], err));
	buf_init(&out, MEM_BASE);
	int rc = s->text   ? s->text(&out, o, words, differs, err)
	         : s->pair ? s->pair(&out, o, files[0], files[1], differs, err)
	                   : s->run(&out, o, *files, words, err);
	if (!rc && out.bad)
		rc = err_set(err, INFER_ENOMEM, "out of memory for the answer");
	if (!rc && out.len)
		rc = say_out(out.at, out.len, err);
	buf_fini(&out);
	return rc;
}

/* Run a subject that takes a text, in a sandbox that allows only reading. The subject opens the files of the
 * text, and then forbids opening any. */
static int inspect_talk(const struct subject *s, const struct inspect_opts *o,
                        const struct opt_rest *rest, infer_error *err)
{
	infer_file *file = NULL;
	const char *path;
	int differs;

	TRY(model_path(&path, o->model, o->json ? MODEL_NAMED : MODEL_DEMO, err));
	sig_mapped(path);
	TRY(confine(CONFINE_TRY, SANDBOX_READ, err));
	TRY(infer_file_open_watched(&file, path, &model_watch, err));
	int rc = run_on(s, o, &file, rest, &differs, err);
	infer_file_close(&file);
	return rc;
}

/* Enter the sandbox.  Do nothing if a GPU is asked for: its driver makes calls that the sandbox
 * forbids. */
static int enter_sandbox(const struct inspect_opts *o, unsigned flags, infer_error *err)
{
	return o->plan.device && strncmp(o->plan.device, "cuda", 4) == 0
	               ? INFER_OK
	               : confine(CONFINE_TRY, flags, err);
}

/* Find the paths of n models.  If n is 1, return the error; otherwise print each error, set its
 * path to NULL and *code to the first exit code. */
static int find_paths(const char **paths, char *const *words, int n, int *code, infer_error *err)
{
	for (int i = 0; i < n; i++) {
		int rc = model_path(&paths[i], words[i], MODEL_NAMED, err);

		if (rc && n == 1)
			return rc;
		if (rc) {
			int is = say_fail(err);

			paths[i] = NULL;
			*code = *code ? *code : is;
		}
	}
	return INFER_OK;
}

/* Open the files of the paths, in the sandbox.  Errors as in find_paths. */
static int open_files(infer_file **files, const char **paths, int n, int *code, infer_error *err)
{
	for (int i = 0; i < n; i++) {
		if (!paths[i])
			continue;
		sig_mapped(paths[i]);
		int rc = infer_file_open_watched(&files[i], paths[i], &model_watch, err);

		if (rc && n == 1)
			return rc;
		if (rc) {
			int is = say_fail(err);

			*code = *code ? *code : is;
		}
	}
	return INFER_OK;
}

/* Run a subject on n files.  Files are opened in a sandbox that allows only reading, and read in
 * one that forbids opening any.  If there are several, those that cannot be opened are reported
 * and skipped.  Returns an error code, or -(exit code). */
static int inspect_files(const struct subject *s, const struct inspect_opts *o, char *const *words,
                         int n, infer_error *err)
{
	static const struct opt_rest none;
	infer_file *one = NULL,
		   **files = n > 1 ? mem_zalloc(MEM_BASE, (size_t)n, sizeof *files) : &one;
	const char **paths = mem_zalloc(MEM_BASE, (size_t)n, sizeof *paths);
	int code = EXIT_DONE, differs = 0;
	int rc = files && paths ? find_paths(paths, words, n, &code, err)
	                        : err_set(err, INFER_ENOMEM, "out of memory for %d files", n);

	/* a plan for this machine measures a step, with threads */
	unsigned more = s->run == plan && !o->machine ? SANDBOX_THREADS : 0;

	if (o->plan.loras.n) /* opened when the model is */
		more |= SANDBOX_READ;

	if (!rc)
		rc = enter_sandbox(o, SANDBOX_READ | more, err);
	if (!rc)
		rc = open_files(files, paths, n, &code, err);
	if (!rc)
		rc = enter_sandbox(o, more, err);
	for (int i = 0; !rc && i < n && !s->pair; i++) {
		sig_mapped(paths[i]);
		if (files[i] && i && !o->json)
			rc = say_out("\n", 1, err);
		if (files[i] && !rc)
			rc = run_on(s, o, &files[i], &none, &differs, err);
	}
	if (!rc && !code && s->pair)
		rc = run_on(s, o, files, &none, &differs, err);
	code = differs ? EXIT_DIFFERS : code;
	for (int i = 0; files && i < n; i++)
		infer_file_close(&files[i]);
	if (files != &one)
		mem_free(files);
	mem_free(paths);
	return rc ? rc : -code;
}

/* Run the program.  Returns INFER_OK, an error code with *err, or -(exit code) if errors were
 * printed. */
static int inspect(struct inspect_opts *o, struct opt_rest *rest, infer_error *err)
{
	infer_file *no_file = NULL;
	const struct subject *s;
	const char *path;
	int differs = 0, no_weights = 0, rc;

	TRY(take_subject(&s, rest, err));
	TRY(check_options(s, o, rest, err));
	if (s->run == show || s->run == plan)
		os_limits(&o->limits); /* before the sandbox */
	if (s->run == plan && !(o->machine && !strcmp(o->machine, "all")))
		TRY(machine_get(o->on, o->machine, o->again, 1, err));
	if (s->run == plan && rest->n_words < 2)
		TRY(plan_find_config(&no_weights, &o->plan.config,
		                     rest->n_words ? rest->words[0] : o->model, err));
	if (no_weights)
		TRY(enter_sandbox(o, SANDBOX_READ, err));
	if (!s->needs_file || no_weights) {
		rc = run_on(s, o, &no_file, rest, &differs, err);
		return rc || !differs ? rc : -EXIT_DIFFERS;
	}
	if (s->takes_words)
		return inspect_talk(s, o, rest, err);
	if (rest->n_words)
		return inspect_files(s, o, rest->words, rest->n_words, err);
	/* with --json there is no default model */
	TRY(model_path(&path, o->model, o->json ? MODEL_NAMED : MODEL_DEMO, err));
	char *const only[] = { (char *)path };
	return inspect_files(s, o, only, 1, err);
}

int main(int argc, char **argv)
{
	static struct infer_machine on;
	struct inspect_opts o = { .chat = CHAT_ARGS, .on = &on };
	struct opt_rest rest;
	infer_error err = { 0 };
	int code = start(&program, &o, &o.start, argc, argv, &rest);

	if (code >= 0)
		return code;
	code = inspect(&o, &rest, &err);
	code = code > 0 ? say_fail(&err) : -code;
	opt_rest_fini(&rest);
	return say_end(code);
}
