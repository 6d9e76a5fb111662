/* tests/embed/answer.c - the program of infer(3): load a model and stream an answer. */
#include <stdio.h>
#include <string.h>
#include <infer/engine.h>

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "demo";
	const char *prompt = "Question: What is a token? Answer:";
	infer_model *model = NULL;
	infer_engine *engine = NULL;
	struct infer_request request;
	struct infer_event event;
	infer_error err;
	int32_t *ids = NULL;
	int rc;

	if (argc > 2)
		prompt = argv[2];
	memset(&request, 0, sizeof request);
	request.max_tokens = 64;
	rc = infer_model_open(&model, path, NULL, &err);
	if (!rc)
		rc = infer_encode(infer_model_tokenizer(model),
		                  prompt, strlen(prompt), INFER_ENCODE_ADD,
		                  &ids, &request.n_prompt, &err);
	if (!rc)
		rc = infer_engine_open(&engine, model, NULL, &err);
	if (!rc) {
		request.prompt = ids;
		rc = infer_engine_submit(engine, &request, NULL, &err);
	}
	while (!rc && infer_engine_busy(engine)) {
		rc = infer_engine_step(engine, &err);
		while (infer_engine_next(engine, &event))
			fwrite(event.text, 1, event.text_bytes, stdout);
	}
	puts("");
	if (rc)
		fprintf(stderr, "%s\n", err.message);
	infer_engine_close(&engine);
	infer_ids_free(ids);
	infer_model_close(&model);
	return rc != INFER_OK;
}
