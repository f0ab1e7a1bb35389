using System.Net;
using System.Text;

namespace Tidemark.Bench;

/// Stands in for a table store that takes every group transaction of this size, and needs no time for it.
public sealed class Echoes(int size) : HttpMessageHandler
{
    const string Boundary = "batchresponse_1", Changeset = "changesetresponse_1";

    readonly byte[] answer = Encoding.UTF8.GetBytes($"--{Boundary}\r\nContent-Type: multipart/mixed; boundary={Changeset}\r\n\r\n"
        + string.Concat(Enumerable.Repeat($"--{Changeset}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
            + "HTTP/1.1 204 No Content\r\nDataServiceVersion: 1.0;\r\nETag: W/\"datetime'2026-01-01T00%3A00%3A00.0000000Z'\"\r\n\r\n\r\n", size))
        + $"--{Changeset}--\r\n--{Boundary}--\r\n");

    protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancel)
    {
        if (request.Content is not null) await request.Content.CopyToAsync(Stream.Null, cancel);
        if (!request.RequestUri!.AbsolutePath.EndsWith("$batch")) return new(HttpStatusCode.NoContent);
        var response = new HttpResponseMessage(HttpStatusCode.Accepted) { Content = new ByteArrayContent(answer) };
        response.Content.Headers.TryAddWithoutValidation("Content-Type", $"multipart/mixed; boundary={Boundary}");
        return response;
    }
}
