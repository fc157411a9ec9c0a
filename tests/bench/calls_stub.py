"""An endpoint with a fixed latency that costs as little as can be: python -m ... PORT SECONDS.

A bare protocol: what it would spend on HTTP it would take from whom it measures.
"""

import asyncio
import json
import sys

REASON = "The passage names the mechanism that the question asks about, step by step. " * 5
REASON += "Relevance score: 7."
TURN = {"reference": ["lorem ipsum dolor sit amet"], "reason": REASON, "response": "yes"}
USAGE = {"prompt_tokens": 1700, "completion_tokens": 120, "total_tokens": 1820}


def answer() -> bytes:
    """The one answer it has, as it goes over the line."""
    message = {"role": "assistant", "content": json.dumps(TURN), "refusal": None}
    choice = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}
    body = json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "stub",
            "choices": [choice],
            "usage": USAGE,
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


class Endpoint(asyncio.Protocol):
    """One connection: whatever is asked is answered the same, after a while."""

    seconds = 0.2
    answer = answer()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the line."""
        self.line = transport
        self.parts, self.missing = bytearray(), 0

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self.parts += data
        while (end := self.parts.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.parts[:end]).lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self.parts) < end + 4 + length:
                return
            del self.parts[: end + 4 + length]
            asyncio.get_running_loop().call_later(self.seconds, self._reply)

    def _reply(self) -> None:
        if not self.line.is_closing():
            self.line.write(self.answer)


async def serve(port: int) -> None:
    """Until killed."""
    server = await asyncio.get_running_loop().create_server(
        Endpoint, "127.0.0.1", port, backlog=4096
    )
    await server.serve_forever()


if __name__ == "__main__":
    Endpoint.seconds = float(sys.argv[2])
    asyncio.run(serve(int(sys.argv[1])))
