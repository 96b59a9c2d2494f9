"""A loopback TCP proxy with faults on the way back: answers are cut, reset, delayed or slowed."""

import argparse
import asyncio
import socket
import struct
import sys
from collections.abc import Awaitable, Callable

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", type=int, required=True, help="port")
    parser.add_argument("--to", type=int, required=True, help="port")
    parser.add_argument("--cut-after", type=int, help="bytes of an answer")
    parser.add_argument("--reset", action="store_true", help="end with RST instead of FIN")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before an answer's first byte")
    parser.add_argument("--rate", type=float, help="bytes a second")
    parser.add_argument("--piece", type=int, default=16384, help="bytes that are passed on at once")
    parser.add_argument("--refuse-every", type=int, help="close each n-th connection at once")
    return parser.parse_args()


def end(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    if reset:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
    else:
        writer.close()


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()


async def answer(
    options: argparse.Namespace, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    sent = 0
    while piece := await reader.read(options.piece):
        await asyncio.sleep(options.latency if not sent else 0)
        if options.cut_after is not None and sent + len(piece) > options.cut_after:
            writer.write(piece[: options.cut_after - sent])
            await writer.drain()
            return
        writer.write(piece)
        await writer.drain()
        sent += len(piece)
        if options.rate:
            await asyncio.sleep(len(piece) / options.rate)


def connection(options: argparse.Namespace) -> Serve:
    count = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        if options.refuse_every and count % options.refuse_every == 0:
            end(writer, reset=options.reset)
            return
        from_wiki, to_wiki = await asyncio.open_connection("127.0.0.1", options.to)
        asking = asyncio.create_task(pass_on(reader, to_wiki))
        try:
            await answer(options, from_wiki, writer)
        except ConnectionError:
            pass  # the client has gone, as it should
        finally:
            asking.cancel()
            to_wiki.close()
            end(writer, reset=options.reset)

    return serve


async def main() -> None:
    options = arguments()
    async with await asyncio.start_server(connection(options), "127.0.0.1", options.listen) as server:
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
