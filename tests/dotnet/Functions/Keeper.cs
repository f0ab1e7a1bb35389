using System.Runtime.ExceptionServices;
using Microsoft.Azure.WebJobs.Host.Timers;
using Microsoft.Extensions.DependencyInjection;

namespace Tidemark.Tests.Functions;

/// Starts a host, and starts it again when it fails, as App Service does: a host ends when a listener or the renewal of a
/// lock gives up.
public sealed class Keeper : IAsyncDisposable
{
    readonly CancellationTokenSource stop = new();
    readonly Task keeping;

    public Keeper(Recipe recipe) => keeping = Keep(recipe);

    async Task Keep(Recipe recipe)
    {
        while (!stop.IsCancellationRequested)
        {
            try
            {
                var end = new End();
                stop.Token.Register(end.Come);
                await using var host = await Host.Start(recipe with
                {
                    More = jobs =>
                    {
                        recipe.More?.Invoke(jobs);
                        jobs.Services.AddSingleton<IWebJobsExceptionHandler>(end);
                    },
                });
                await end.Coming;
            }
            catch (Exception)
            {
                // A store was away when the host started or stopped.
            }
        }
    }

    public async ValueTask DisposeAsync()
    {
        await stop.CancelAsync();
        await keeping;
    }

    /// The end of one run of the host.
    sealed class End : IWebJobsExceptionHandler
    {
        readonly TaskCompletionSource coming = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Task Coming => coming.Task;

        public void Come() => coming.TrySetResult();

        public Task OnUnhandledExceptionAsync(ExceptionDispatchInfo exception)
        {
            Come();
            return Task.CompletedTask;
        }

        public Task OnTimeoutExceptionAsync(ExceptionDispatchInfo exception, TimeSpan grace) => OnUnhandledExceptionAsync(exception);
    }
}
