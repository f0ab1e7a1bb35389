using System.Net;
using System.Net.Sockets;
using Azure.Core.Pipeline;
using Microsoft.Azure.WebJobs;
using Microsoft.Extensions.Azure;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace Tidemark.Tests.Functions;

/// The blob store under a name that begins with the account, as the service has it. With such a name, functions that blobs
/// trigger also read the logs of the account, and note how far they have seen a container.
public static class HostStyle
{
    public static string Connection { get; } =
        Stores.Connection.Replace(Stores.Blobs.AbsoluteUri, $"http://{Stores.Account}.blob.localhost:{Stores.Blobs.Port}/");

    /// Lets the host find the name on a machine that does not know it.
    public static void Use(IWebJobsBuilder jobs) => jobs.Services.AddAzureClients(clients => clients.ConfigureDefaults(options =>
        options.Transport = new HttpClientTransport(new HttpClient(new SocketsHttpHandler { ConnectCallback = Connect }))));

    /// Notes which containers have blobs that the host has found in the logs: it says so, and nothing else shows it.
    public static void NoteLogScans(IWebJobsBuilder jobs, Notes notes) =>
        jobs.Services.AddLogging(logging => logging.SetMinimumLevel(LogLevel.Debug).AddProvider(new Listening(notes)));

    static async ValueTask<Stream> Connect(SocketsHttpConnectionContext context, CancellationToken cancellation)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await socket.ConnectAsync(IPAddress.Loopback, context.DnsEndPoint.Port, cancellation);
        return new NetworkStream(socket, ownsSocket: true);
    }

    sealed class Listening(Notes notes) : ILoggerProvider, ILogger
    {
        public ILogger CreateLogger(string category) => this;

        public bool IsEnabled(LogLevel level) => true;

        public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

        public void Log<TState>(LogLevel level, EventId id, TState state, Exception? exception, Func<TState, Exception?, string> format)
        {
            if (id.Name == "ScanBlobLogs" && state is IReadOnlyList<KeyValuePair<string, object?>> values)
            {
                notes.Add(new FoundInLogs($"{values.First(value => value.Key == "containerName").Value}"));
            }
        }

        public void Dispose()
        {
        }
    }
}

public sealed record FoundInLogs(string Container);
