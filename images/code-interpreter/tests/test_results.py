import json
import unittest

from boxyard_code import limits, results
from boxyard_code.execution import Execution


def message(kind, **content):
    return {"msg_type": kind, "content": content}


class Results(unittest.TestCase):
    def test_known_media_types_become_members_and_others_are_extra(self):
        bundle = {"text/plain": "'a'", "image/png": "aW\n1n\n", "application/x-own": 1}
        line = {"type": "result", "is_main_result": True, "text": "a", "png": "aW1n", "application/x-own": 1, "extra": {"application/x-own": 1}}
        self.assertEqual(results.lines_of(message("execute_result", data=bundle)), [line])
        self.assertEqual(results.lines_of(message("display_data", data={"text/plain": "'a'"}))[0]["text"], "'a'")

    def test_only_a_pair_of_quotes_is_removed(self):
        self.assertEqual([results.unquoted(text) for text in ("'a'", '"a"', "'", "'a\"", "('a', 'b')", "")], ["a", "a", "'", "'a\"", "('a', 'b')", ""])

    def test_other_messages_give_no_line(self):
        self.assertEqual(results.lines_of(message("status", execution_state="busy")), [])
        self.assertEqual(results.lines_of(message("clear_output", wait=True)), [])

    def test_long_output_is_split_without_loss(self):
        text = "x" * (2 * limits.STREAM_PIECE + 1)
        lines = results.lines_of(message("stream", name="stderr", text=text))
        self.assertEqual([line["type"] for line in lines], ["stderr"] * 3)
        self.assertEqual("".join(line["text"] for line in lines), text)

    def test_an_error_always_has_a_name(self):
        wanted = {"type": "error", "name": "Error", "value": "2", "traceback": ""}
        self.assertEqual(results.lines_of(message("error", ename="", evalue="2", traceback=[])), [wanted])

    def test_a_line_is_json_without_nan_and_without_line_feeds(self):
        line = {"a": [float("nan"), float("inf"), 1.5], "b": "x\ny\ud800"}
        encoded = results.encode(line)
        self.assertEqual(encoded.count(b"\n"), 1)
        self.assertEqual(json.loads(encoded), {"a": [None, None, 1.5], "b": "x\ny?"})

    def test_a_result_that_is_too_large_is_an_error(self):
        line = json.loads(results.encode({"type": "result", "text": "x" * limits.MAX_RESULT_BYTES}))
        self.assertEqual((line["type"], line["name"]), ("error", "ResultTooLarge"))


class Pending(unittest.IsolatedAsyncioTestCase):
    async def test_lines_come_in_order_and_end(self):
        execution = Execution()
        for number in (1, 2):
            self.assertTrue(execution.put({"n": number}))
        execution.finish()
        execution.put({"n": 3})
        lines = [json.loads(line) async for line in execution]
        self.assertEqual(lines, [{"n": 1}, {"n": 2}, {"type": "end_of_execution"}])

    async def test_unread_output_is_limited_and_the_cell_must_end(self):
        execution = Execution()
        piece = {"text": "x" * 2**20}
        accepted = 0
        while execution.put(piece):
            accepted += 1
        self.assertEqual(accepted, limits.MAX_PENDING_BYTES // 2**20 - 1)
        execution.put(piece)
        execution.finish()
        lines = [json.loads(line) async for line in execution]
        self.assertEqual(len(lines), accepted + 2)
        self.assertEqual((lines[-2]["name"], lines[-1]["type"]), ("OutputLimit", "end_of_execution"))

    async def test_reading_makes_room(self):
        execution = Execution()
        piece = {"text": "x" * 2**20}
        for _ in range(2 * limits.MAX_PENDING_BYTES // 2**20):
            self.assertTrue(execution.put(piece))
            await execution.__anext__()

    async def test_an_abandoned_execution_ends_for_a_waiting_reader(self):
        execution = Execution()
        execution.abandon()
        self.assertEqual([line async for line in execution], [])
        self.assertTrue(execution.abandoned.is_set())


if __name__ == "__main__":
    unittest.main()
